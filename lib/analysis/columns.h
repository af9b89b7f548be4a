/* columns.h -- a device's part of the events' columns. */
#ifndef MSNAP_ANALYSIS_COLUMNS_H
#define MSNAP_ANALYSIS_COLUMNS_H

#include <memsnap/history.h>

/* NULL for a device without events: the columns of a file without any are NULL, and nothing may be added to that. */
#define EVENT_COLUMN(h, column) ((h)->device->n_events ? (h)->snapshot->events.column + (h)->device->first_event : NULL)

#endif
