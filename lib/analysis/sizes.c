/* sizes.c -- how often a size occurs; open addressing. */
#include "analysis/sizes.h"

static size_t home(const struct msnap_sizes *s, uint64_t size)
{
    const uint64_t h = size * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(h >> 32 ^ h >> 50) & (s->n_slots - 1);
}

static size_t slot_of(const struct msnap_sizes *s, uint64_t size)
{
    size_t i = home(s, size);
    while (s->size[i] && s->size[i] != size)
        i = (i + 1) & (s->n_slots - 1);
    return i;
}

static bool grow(struct msnap_sizes *s)
{
    struct msnap_sizes more = {.arena = s->arena, .n = s->n, .n_slots = s->n_slots ? s->n_slots * 2 : 64};
    more.size = MSNAP_NEW(s->arena, uint64_t, more.n_slots);
    more.count = MSNAP_NEW(s->arena, uint32_t, more.n_slots);
    if (!more.size || !more.count)
        return false;
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->size[i]) {
            const size_t k = slot_of(&more, s->size[i]);
            more.size[k] = s->size[i];
            more.count[k] = s->count[i];
        }
    *s = more;
    return true;
}

bool msnap_sizes_add(struct msnap_sizes *s, uint64_t size)
{
    if (!size)
        return true;
    if ((s->n + 1) * 2 > s->n_slots && !grow(s))
        return false;
    const size_t i = slot_of(s, size);
    s->n += !s->size[i];
    s->size[i] = size;
    s->count[i]++;
    return true;
}

uint32_t msnap_sizes_count(const struct msnap_sizes *s, uint64_t size)
{
    if (!s->n_slots || !size)
        return 0;
    const size_t i = slot_of(s, size);
    return s->size[i] ? s->count[i] : 0;
}
