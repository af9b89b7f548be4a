/* status.c -- format an error. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

#ifndef MSNAP_VERSION
#define MSNAP_VERSION "0.1.0"
#endif

static void fill(struct msnap_error *err, enum msnap_status status, enum msnap_unit unit, uint64_t at,
                 const char *format, va_list args) MSNAP_PRINTF(5, 0);

static void fill(struct msnap_error *err, enum msnap_status status, enum msnap_unit unit, uint64_t at,
                 const char *format, va_list args)
{
    if (!err)
        return;
    err->status = status;
    err->unit = unit;
    err->at = at;
    vsnprintf(err->text, sizeof err->text, format, args);
}

enum msnap_status msnap_fail(struct msnap_error *err, enum msnap_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, MSNAP_NOWHERE, 0, format, args);
    va_end(args);
    return status;
}

enum msnap_status msnap_fail_at(struct msnap_error *err, enum msnap_status status, enum msnap_unit unit,
                                uint64_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, status, unit, at, format, args);
    va_end(args);
    return status;
}

const char *msnap_version(void) { return MSNAP_VERSION; }
