/* status.h -- fill in the caller's error and hand its status on. */
#ifndef MSNAP_BASE_STATUS_H
#define MSNAP_BASE_STATUS_H

#include <memsnap/base.h>

/* Each returns `status`, so that a failing function ends in one line. `err` may be NULL. */
enum msnap_status msnap_fail(struct msnap_error *err, enum msnap_status status, const char *format, ...)
    MSNAP_PRINTF(3, 4);
enum msnap_status msnap_fail_at(struct msnap_error *err, enum msnap_status status, enum msnap_unit unit,
                                uint64_t at, const char *format, ...) MSNAP_PRINTF(5, 6);

#endif
