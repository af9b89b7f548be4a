/* pickle_text.c -- the text opcodes of protocol 0: numbers and strings as lines. */
#include "format/pickle_parts.h"

bool msnap_pickle_decimal(const uint8_t *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    if (n == 0 || n > 20)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || v > (UINT64_MAX - (uint64_t)(p[i] - '0')) / 10)
            return false;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *out = v;
    return true;
}

/* [-]digits, as I and L have them. */
static msnap_cell integer(struct msnap_pickle *pk, const uint8_t *p, size_t n, bool *well_formed)
{
    bool negative = n && p[0] == '-';
    uint64_t v;
    *well_formed = msnap_pickle_decimal(p + negative, n - negative, &v) &&
                   (!negative || v <= (uint64_t)INT64_MAX + 1);
    if (!*well_formed)
        return 0;
    if (negative)
        return msnap_pickle_int(pk, (int64_t)(UINT64_C(0) - v));
    return v <= INT64_MAX ? msnap_pickle_int(pk, (int64_t)v) : msnap_pickle_big(pk, v, false);
}

/* A decimal fraction as Python's repr writes it; independent of the locale, which strtod is not. */
static bool parse_float(const uint8_t *p, size_t n, double *out)
{
    double mantissa = 0, sign = 1;
    int scale = 0, exponent = 0, exponent_sign = 1;
    size_t i = 0, digits = 0;
    if (i < n && (p[i] == '-' || p[i] == '+'))
        sign = p[i++] == '-' ? -1 : 1;
    for (; i < n && p[i] >= '0' && p[i] <= '9'; i++, digits++)
        mantissa = mantissa * 10 + (p[i] - '0');
    if (i < n && p[i] == '.')
        for (i++; i < n && p[i] >= '0' && p[i] <= '9'; i++, digits++, scale++)
            mantissa = mantissa * 10 + (p[i] - '0');
    if (digits && i < n && (p[i] == 'e' || p[i] == 'E')) {
        i++;
        if (i < n && (p[i] == '-' || p[i] == '+'))
            exponent_sign = p[i++] == '-' ? -1 : 1;
        for (; i < n && p[i] >= '0' && p[i] <= '9' && exponent < 10000; i++)
            exponent = exponent * 10 + (p[i] - '0');
    }
    if (i != n || digits == 0)
        return false;
    double power = 1;
    exponent = exponent_sign * exponent - scale;
    for (int e = exponent < 0 ? -exponent : exponent; e > 0 && power < 1e300; e--)
        power *= 10;
    *out = sign * (exponent < 0 ? mantissa / power : mantissa * power);
    return true;
}

static size_t put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (uint8_t)(0xC0 | c >> 6);
        to[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (uint8_t)(0xE0 | c >> 12);
        to[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        to[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    to[0] = (uint8_t)(0xF0 | c >> 18);
    to[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    to[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    to[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

static bool hex(const uint8_t *p, size_t n, uint32_t *out)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = p[i];
        unsigned d = c >= '0' && c <= '9' ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 16;
        if (d == 16)
            return false;
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

/* `raw`: UNICODE's raw-unicode-escape (Latin-1 bytes, \u and \U only); else STRING's body between
 * its quotes, a Python 2 str: its bytes are taken as they are. Never longer than the text times 2. */
static bool unescape(const uint8_t *p, size_t n, bool raw, uint8_t *to, size_t *length)
{
    size_t used = 0;
    for (size_t i = 0; i < n;) {
        uint32_t c = p[i++];
        if (c != '\\' || (raw && (i == n || (p[i] != 'u' && p[i] != 'U')))) {
            if (raw)
                used += put_utf8(to + used, c);
            else
                to[used++] = (uint8_t)c;
            continue;
        }
        if (i == n)
            return false;
        uint8_t e = p[i++];
        size_t digits = e == 'x' && !raw ? 2 : e == 'u' && raw ? 4 : e == 'U' && raw ? 8 : 0;
        if (digits) {
            if (n - i < digits || !hex(p + i, digits, &c) || c > 0x10FFFF)
                return false;
            i += digits;
            if (raw)
                used += put_utf8(to + used, c);
            else
                to[used++] = (uint8_t)c;
            continue;
        }
        switch (e) {
        case 'n': to[used++] = '\n'; break;
        case 't': to[used++] = '\t'; break;
        case 'r': to[used++] = '\r'; break;
        case '\\':
        case '\'':
        case '"': to[used++] = e; break;
        default: /* Python keeps unknown escapes as they are */
            to[used++] = '\\';
            to[used++] = e;
        }
    }
    *length = used;
    return true;
}

static enum msnap_status string(struct msnap_pickle *pk, const uint8_t *p, size_t n, bool raw, bool *well_formed,
                                msnap_cell *out, struct msnap_error *err)
{
    uint8_t small[1024], *to = small;
    size_t size = 2 * n + 1, length = 0;
    if (size > sizeof small && !(to = pk->mem.resize(pk->mem.ctx, NULL, 0, size)))
        return msnap_pickle_no_memory(pk, err);
    enum msnap_status st = MSNAP_OK;
    *well_formed = unescape(p, n, raw, to, &length);
    if (*well_formed) {
        uint32_t id = pickle_string(pk, to, length);
        if (id)
            *out = MSNAP_CELL(MSNAP_KIND_STR, id);
        else
            st = msnap_pickle_no_memory(pk, err);
    }
    if (to != small)
        msnap_mem_release(pk->mem, to, size);
    return st;
}

enum msnap_status msnap_pickle_text(struct msnap_pickle *pk, enum msnap_opcode op, const uint8_t *line, size_t n,
                                    uint64_t at, msnap_cell *out, struct msnap_error *err)
{
    bool well_formed = false;
    enum msnap_status st = MSNAP_OK;
    double d;
    *out = 0;
    if (n && line[n - 1] == '\r') /* a file that went through a text-mode copy */
        n--;
    switch (op) {
    case OP_INT:
        if (n == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1')) {
            *out = MSNAP_CELL(MSNAP_KIND_BOOL, line[1] == '1');
            return MSNAP_OK;
        }
        *out = integer(pk, line, n, &well_formed);
        break;
    case OP_LONG:
        if (n && line[n - 1] == 'L')
            n--;
        *out = integer(pk, line, n, &well_formed);
        break;
    case OP_FLOAT:
        well_formed = parse_float(line, n, &d);
        if (well_formed)
            *out = msnap_pickle_float(pk, d);
        break;
    case OP_STRING:
        if (n >= 2 && (line[0] == '\'' || line[0] == '"') && line[n - 1] == line[0])
            st = string(pk, line + 1, n - 2, false, &well_formed, out, err);
        break;
    case OP_UNICODE: st = string(pk, line, n, true, &well_formed, out, err); break;
    default: break;
    }
    if (st != MSNAP_OK)
        return st;
    if (!well_formed)
        return msnap_fail_at(err, MSNAP_EFORMAT, MSNAP_BYTE, at,
                             "the pickle is damaged: opcode '%c' has no readable argument (numbers may have up to "
                             "64 bits)", (int)op);
    return *out ? MSNAP_OK : msnap_pickle_no_memory(pk, err);
}
