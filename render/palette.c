/* palette.c -- colours that survive colour-blind eyes, and the look of every class. */
#include "palette.h"

#define NONE MSNAP_NO_COLOUR
#define INK 0x1F2933
#define SOFT_INK 0x52606D

/* Okabe and Ito's seven, then five of Paul Tol's muted ones, then the same in another lightness;
 * ordered so that neighbours, which a stacked picture puts side by side, differ for every kind of
 * colour vision (test_scene.c simulates them). */
static const struct msnap_look looks[MSNAP_N_LOOKS] = {
    [MSNAP_LOOK_PAPER] = {"paper", 0xFFFFFF, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GRID] = {"grid", NONE, 0xE4E7EB, 1, 0, 0, false},
    [MSNAP_LOOK_AXIS] = {"axis", NONE, 0x7B8794, 1, 0, 0, false},
    [MSNAP_LOOK_TITLE] = {"title", INK, NONE, 0, 0, 20, true},
    [MSNAP_LOOK_TITLE_SMALL] = {"title-small", INK, NONE, 0, 0, 14, true},
    [MSNAP_LOOK_SUBTITLE] = {"subtitle", SOFT_INK, NONE, 0, 0, 13, false},
    [MSNAP_LOOK_TICK] = {"tick", SOFT_INK, NONE, 0, 0, 12, false},
    [MSNAP_LOOK_NOTE] = {"note", SOFT_INK, NONE, 0, 0, 11, false},
    [MSNAP_LOOK_HEAD] = {"head", INK, NONE, 0, 0, 12, true},
    [MSNAP_LOOK_LABEL] = {"label", INK, NONE, 0, 0, 12, false},
    [MSNAP_LOOK_NUMBER] = {"number", INK, NONE, 0, 0, 12, false},
    [MSNAP_LOOK_TOTAL] = {"total", INK, NONE, 0, 0, 12, true},
    [MSNAP_LOOK_RESERVED] = {"reserved", NONE, INK, 1.5f, 0, 0, false},
    [MSNAP_LOOK_SIMULATED] = {"simulated", NONE, 0xAA3377, 2.5f, 6, 0, false},
    [MSNAP_LOOK_LOWEST] = {"lowest", NONE, 0xFFFFFF, 1.2f, 0, 0, false},
    [MSNAP_LOOK_REQUESTED] = {"requested", NONE, 0xF0E442, 1.5f, 0, 0, false},
    [MSNAP_LOOK_STEP_LINE] = {"step-line", NONE, SOFT_INK, 0.7f, 2, 0, false},
    [MSNAP_LOOK_FORWARD] = {"forward", 0xBFD7EA, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_BACKWARD] = {"backward", 0x7C8DA6, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_OPTIMIZER] = {"optimizer", 0x2F3E55, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_CACHE_AREA] = {"cache-area", 0xE4E7EB, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_ACTIVE_AREA] = {"active-area", 0xD55E00, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_ALLOCATED_AREA] = {"allocated-area", 0x0072B2, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_PEAK_LINE] = {"peak-line", NONE, INK, 1, 0, 0, false},
    [MSNAP_LOOK_PEAK_DOT] = {"peak-dot", INK, 0xFFFFFF, 1.5f, 0, 0, false},
    [MSNAP_LOOK_PEAK_TEXT] = {"peak-text", INK, NONE, 0, 0, 12, true},
    [MSNAP_LOOK_OOM_LINE] = {"oom-line", NONE, 0xB00020, 1.5f, 5, 0, false},
    [MSNAP_LOOK_OOM_SOFT_LINE] = {"oom-soft-line", NONE, 0xB00020, 1, 2, 0, false},
    [MSNAP_LOOK_OOM_TEXT] = {"oom-text", 0xB00020, NONE, 0, 0, 12, true},
    [MSNAP_LOOK_SEGMENT_FREE] = {"segment-free", 0xE9ECF0, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_SEGMENT_WASTE] = {"segment-waste", 0x8FC1E3, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_SEGMENT_PENDING] = {"segment-pending", 0x3E4C59, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_SEGMENT_REST] = {"segment-rest", 0x9FAAB6, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_SEGMENT_EDGE] = {"segment-edge", NONE, 0x7B8794, 1, 0, 0, false},
    [MSNAP_LOOK_SEGMENT_DASHED] = {"segment-dashed", NONE, 0x52606D, 1, 3, 0, false},
    [MSNAP_LOOK_BLOCK_EDGE] = {"block-edge", NONE, 0xFFFFFF, 0.6f, 0, 0, false},
    [MSNAP_LOOK_LARGEST_FREE] = {"largest-free", NONE, 0xB00020, 1.5f, 0, 0, false},
    [MSNAP_LOOK_FLAME_ROOT] = {"flame-root", 0x3E4C59, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_FLAME_LIBRARY] = {"flame-library", 0xDDE2E8, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_FLAME_NATIVE] = {"flame-native", 0xEFE9DD, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_FLAME_NONE] = {"flame-none", 0xB8C1CB, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_FLAME_BEFORE] = {"flame-before", 0x7B8794, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_FLAME_SMALL] = {"flame-small", 0xF3F4F6, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_FLAME_EDGE] = {"flame-edge", NONE, 0xFFFFFF, 0.8f, 0, 0, false},
    [MSNAP_LOOK_FRAME_TEXT] = {"frame-text", INK, NONE, 0, 0, 11, false},
    [MSNAP_LOOK_FRAME_TEXT_LIGHT] = {"frame-text-light", 0xFFFFFF, NONE, 0, 0, 11, false},
    [MSNAP_LOOK_BEFORE] = {"before", 0x7B8794, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_REST] = {"rest", 0xCBD2D9, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 0] = {"group-0", 0x0072B2, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 1] = {"group-1", 0xE69F00, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 2] = {"group-2", 0x009E73, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 3] = {"group-3", 0xF0E442, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 4] = {"group-4", 0xD55E00, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 5] = {"group-5", 0x56B4E9, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 6] = {"group-6", 0x332288, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 7] = {"group-7", 0xCC79A7, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 8] = {"group-8", 0x882255, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 9] = {"group-9", 0x117733, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 10] = {"group-10", 0xDDCC77, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 11] = {"group-11", 0x44AA99, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 12] = {"group-12", 0x1D134E, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 13] = {"group-13", 0xAAD9F4, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 14] = {"group-14", 0xEAAE7F, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 15] = {"group-15", 0x7FB8D8, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 16] = {"group-16", 0x855C00, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 17] = {"group-17", 0xA1D4CC, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 18] = {"group-18", 0x09451D, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 19] = {"group-19", 0x7FCEB9, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 20] = {"group-20", 0x4E1331, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 21] = {"group-21", 0xEEE5BB, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 22] = {"group-22", 0x764660, NONE, 0, 0, 0, false},
    [MSNAP_LOOK_GROUP + 23] = {"group-23", 0xF7F1A0, NONE, 0, 0, 0, false},
};

const struct msnap_look *msnap_look(unsigned look_class)
{
    return &looks[look_class < MSNAP_N_LOOKS ? look_class : MSNAP_LOOK_REST];
}

unsigned msnap_look_of_group(size_t n) { return MSNAP_LOOK_GROUP + (unsigned)(n % MSNAP_N_GROUP_COLOURS); }
