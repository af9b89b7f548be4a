/* fuzz_conf.c -- any bytes as PYTORCH_CUDA_ALLOC_CONF: refused with a reason, or settings within their limits. */
#include <memsnap/sim.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void must(bool what)
{
    if (!what)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct msnap_sim_config c, again;
    struct msnap_error err = {0};
    char *text = malloc(n + 1); /* of its own, so that a byte too far is seen */
    must(text != NULL);
    memcpy(text, bytes, n);
    if (msnap_sim_config_parse(text, n, &c, &err) != MSNAP_OK) {
        must(err.status == MSNAP_EUSAGE && err.text[0] && memchr(err.text, '\0', sizeof err.text));
        for (const char *p = err.text; *p; p++)
            must(*p >= ' ' && *p < 0x7F);
    } else {
        must(c.large_segment_size > (UINT64_C(10) << 20) && c.max_split_size >= c.large_segment_size);
        must(c.max_non_split_rounding >= c.large_segment_size);
        must(c.gc_threshold >= 0 && c.gc_threshold < 1 && c.fraction >= 0 && c.fraction <= 1);
        for (int k = 0; k < 16; k++)
            must((c.divisions[k] & (c.divisions[k] - 1)) == 0);
        must(msnap_sim_config_parse(text, n, &again, &err) == MSNAP_OK && msnap_sim_config_equal(&c, &again));
    }
    free(text);
    return 0;
}
