/* test_pickle.c -- bytes to columns: every protocol alike, every cut and every refusal named with its place. */
#include "support/check.h"
#include "support/script.h"

#include <memsnap/snapshot.h>

static enum msnap_status read_bytes(struct fixture *f, const void *bytes, size_t n, struct msnap_snapshot **out)
{
    struct msnap_open_options o = {.mem = counting_mem(&f->mem)};
    memset(&f->err, 0, sizeof f->err);
    return msnap_snapshot_read(bytes, n, &o, out, &f->err);
}

static struct msnap_snapshot *read_good(struct fixture *f, const char *name)
{
    size_t n;
    unsigned char *bytes = file_bytes(name, &n);
    struct msnap_snapshot *s = NULL;
    if (read_bytes(f, bytes, n, &s) != MSNAP_OK)
        fail_msg("%s: %s", name, f->err.text);
    memset(bytes, 0, n); /* the bytes need to live only during the call */
    free(bytes);
    return s;
}

static void assert_same_string(const struct msnap_snapshot *a, uint32_t i, const struct msnap_snapshot *b, uint32_t k)
{
    assert_int_equal(a->strings.len[i], b->strings.len[k]);
    assert_memory_equal(a->strings.bytes[i], b->strings.bytes[k], a->strings.len[i] + 1);
}

static void assert_same_stack(const struct msnap_snapshot *a, uint32_t i, const struct msnap_snapshot *b, uint32_t k)
{
    while (i > MSNAP_STACK_EMPTY && k > MSNAP_STACK_EMPTY) {
        const uint32_t x = a->stacks.frame[i], y = b->stacks.frame[k];
        assert_same_string(a, a->frames.name[x], b, b->frames.name[y]);
        assert_same_string(a, a->frames.filename[x], b, b->frames.filename[y]);
        assert_int_equal(a->frames.line[x], b->frames.line[y]);
        i = a->stacks.parent[i];
        k = b->stacks.parent[k];
    }
    assert_int_equal(i, k); /* both none, or both empty */
}

static void assert_same_events(const struct msnap_snapshot *a, const struct msnap_snapshot *b)
{
    assert_int_equal(a->events.n, b->events.n);
    for (size_t i = 0; i < a->events.n; i++) {
        const struct msnap_events *x = &a->events, *y = &b->events;
        assert_string_equal(msnap_action_name(a, x->action[i]), msnap_action_name(b, y->action[i]));
        assert_int_equal(x->has[i], y->has[i]);
        assert_int_equal(x->addr[i], y->addr[i]);
        assert_int_equal(x->size[i], y->size[i]);
        assert_int_equal(x->time_us[i], y->time_us[i]);
        assert_int_equal(a->streams.raw[x->stream[i]], b->streams.raw[y->stream[i]]);
        assert_same_stack(a, x->stack[i], b, y->stack[i]);
    }
}

static void assert_same_state(const struct msnap_snapshot *a, const struct msnap_snapshot *b)
{
    assert_int_equal(a->segments.n, b->segments.n);
    for (size_t i = 0; i < a->segments.n; i++) {
        const struct msnap_segments *x = &a->segments, *y = &b->segments;
        assert_int_equal(x->device[i], y->device[i]);
        assert_int_equal(x->address[i], y->address[i]);
        assert_int_equal(x->total_size[i], y->total_size[i]);
        assert_int_equal(x->allocated_size[i], y->allocated_size[i]);
        assert_int_equal(x->active_size[i], y->active_size[i]);
        assert_int_equal(x->type[i], y->type[i]);
        assert_int_equal(x->first_block[i], y->first_block[i]);
        assert_int_equal(x->n_blocks[i], y->n_blocks[i]);
        assert_int_equal(a->streams.raw[x->stream[i]], b->streams.raw[y->stream[i]]);
    }
    assert_int_equal(a->blocks.n, b->blocks.n);
    for (size_t i = 0; i < a->blocks.n; i++) {
        const struct msnap_blocks *x = &a->blocks, *y = &b->blocks;
        assert_int_equal(x->address[i], y->address[i]);
        assert_int_equal(x->size[i], y->size[i]);
        assert_int_equal(x->state[i], y->state[i]);
        assert_int_equal(x->segment[i], y->segment[i]);
        if (x->state[i] != MSNAP_BLOCK_INACTIVE)
            assert_same_stack(a, x->stack[i], b, y->stack[i]);
    }
}

static void every_writer_and_protocol_gives_the_same_columns(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *name;
        int protocol;
    } files[] = {{"good_protocol0.pickle", 0}, {"good_protocol1.pickle", 1}, {"good_protocol2.pickle", 2}, {"good_protocol3.pickle", 3},
        {"good_protocol5.pickle", 5}, {"good_protocol0_python2.pickle", 0}, {"good_cpp_writer.pickle", 2}, {"good_gzip.pickle.gz", 4},
        {"good_gzip_two_members.pickle.gz", 4}, {"good_trailing_3.pickle", 4}};
    struct msnap_snapshot *a = read_good(f, "good_protocol4.pickle");
    assert_int_equal(a->events.n, 43);
    assert_int_equal(a->n_oddities, 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct msnap_snapshot *b = read_good(f, files[i].name);
        if (b->pickle_protocol != files[i].protocol)
            assert_true(files[i].protocol == 0 || files[i].protocol == 1); /* those two look alike */
        assert_same_events(a, b);
        assert_same_state(a, b);
        assert_int_equal(b->stacks.n_used, a->stacks.n_used);
        assert_int_equal(b->annotations.n, 2);
        assert_true(b->settings.known);
        msnap_snapshot_free(b);
    }
    msnap_snapshot_free(a);
}

static void both_real_writers_give_the_same_columns(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *cpp = read_good(f, "real/cppwriter.python.pickle.gz");
    struct msnap_snapshot *py = read_good(f, "real/cppwriter.python.python.pickle.gz");
    assert_int_equal(cpp->pickle_protocol, 2);
    assert_int_equal(py->pickle_protocol, 4);
    assert_int_equal(cpp->segments.n, py->segments.n);
    assert_int_equal(cpp->blocks.n, py->blocks.n);
    for (size_t i = 0; i < cpp->blocks.n; i++) {
        assert_int_equal(cpp->blocks.address[i], py->blocks.address[i]);
        assert_int_equal(cpp->blocks.size[i], py->blocks.size[i]);
    }
    msnap_snapshot_free(cpp);
    msnap_snapshot_free(py);
}

static void older_forms_have_the_same_blocks(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"good_2.1.pickle", "good_2.0_history.pickle", "good_1.13_list.pickle", "good_bare_list.pickle",
        "good_pool_lists.pickle", "odd_floats.pickle", "good_stale_requested.pickle"};
    struct msnap_snapshot *a = read_good(f, "good_protocol4.pickle");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct msnap_snapshot *b = read_good(f, files[i]);
        assert_same_state(a, b);
        msnap_snapshot_free(b);
    }
    msnap_snapshot_free(a);
}

static void every_prefix_is_an_error_with_its_place(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"good_protocol4.pickle", "good_protocol1.pickle", "good_protocol0_python2.pickle", "good_cpp_writer.pickle",
        "good_2.0_history.pickle", "good_gzip.pickle.gz", "real/mempool.pickle.gz"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        size_t n;
        unsigned char *all = file_bytes(files[i], &n);
        for (size_t k = 0; k <= n; k++) {
            /* A copy that ends where the file does, so that a read beyond it is found. */
            unsigned char *cut = malloc(k + !k);
            assert_non_null(cut);
            memcpy(cut, all, k);
            struct msnap_snapshot *s = NULL;
            const enum msnap_status status = read_bytes(f, cut, k, &s);
            if (k < n) {
                if (status == MSNAP_OK)
                    fail_msg("%s: %zu of %zu bytes are no snapshot, and were read", files[i], k, n);
                assert_null(s);
                if (status != MSNAP_EFORMAT && status != MSNAP_EREFUSED)
                    fail_msg("%s: cut at %zu: status %d: %s", files[i], k, (int)status, f->err.text);
                assert_int_equal(f->err.status, status);
                assert_int_not_equal(f->err.text[0], 0);
            } else {
                assert_int_equal(status, MSNAP_OK);
                msnap_snapshot_free(s);
            }
            free(cut);
        }
        free(all);
    }
}

static void what_calls_or_builds_is_refused_by_name_and_place(void **state)
{
    struct fixture *f = *state;
    /* `code` bytes long, the refused opcode `at` bytes into it; five more bytes end the file. */
    static const struct {
        const char *file, *name;
        size_t code, at;
    } table[] = {
        {"global", "GLOBAL", 11, 0}, {"stack_global", "STACK_GLOBAL", 19, 18}, {"reduce", "REDUCE", 8, 7}, {"build", "BUILD", 8, 7},
        {"inst", "INST", 12, 1}, {"obj", "OBJ", 8, 7}, {"newobj", "NEWOBJ", 8, 7}, {"newobj_ex", "NEWOBJ_EX", 9, 8}, {"ext1", "EXT1", 2, 0},
        {"ext2", "EXT2", 3, 0}, {"ext4", "EXT4", 5, 0}, {"persid", "PERSID", 4, 0}, {"binpersid", "BINPERSID", 3, 2}, {"binbytes", "BINBYTES", 7, 0},
        {"short_binbytes", "SHORT_BINBYTES", 4, 0}, {"binbytes8", "BINBYTES8", 11, 0}, {"bytearray8", "BYTEARRAY8", 11, 0},
        {"next_buffer", "NEXT_BUFFER", 1, 0}, {"readonly_buffer", "READONLY_BUFFER", 3, 2}, {"empty_set", "EMPTY_SET", 1, 0},
        {"frozenset", "FROZENSET", 4, 3},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char name[80];
        size_t n;
        snprintf(name, sizeof name, "bad_op_%s.pickle", table[i].file);
        unsigned char *bytes = file_bytes(name, &n);
        struct msnap_snapshot *s = NULL;
        const enum msnap_status status = read_bytes(f, bytes, n, &s);
        free(bytes);
        if (status != MSNAP_EREFUSED || f->err.unit != MSNAP_BYTE || f->err.at != n - 5 - table[i].code + table[i].at || !strstr(f->err.text, table[i].name))
            fail_msg("%s: status %d at %llu, not %zu: %s", name, (int)status, (unsigned long long)f->err.at, n - 5 - table[i].code + table[i].at, f->err.text);
    }
}

static void the_places_of_errors_count_in_the_inflated_bytes(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = NULL;
    static const unsigned char bad[] = "\x80\x02}h\x07.";
    assert_int_equal(read_bytes(f, bad, sizeof bad - 1, &s), MSNAP_EFORMAT);
    assert_int_equal(f->err.unit, MSNAP_BYTE);
    assert_int_equal(f->err.at, 3);
}

static void numbers_beyond_63_bits_keep_their_bits(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = read_good(f, "good_xpu.pickle");
    assert_int_equal(s->segments.address[0] >> 56, 0xFF);
    assert_int_equal((uint64_t)s->streams.raw[s->segments.stream[0]], UINT64_C(0xFFFF8000AB12CD00));
    msnap_snapshot_free(s);
    s = read_good(f, "good_unknown_lines.pickle");
    size_t unknown = 0;
    for (size_t i = 1; i < s->frames.n; i++)
        unknown += s->frames.line[i] <= 0 || s->frames.line[i] == MSNAP_LINE_U64_MAX;
    assert_int_equal(unknown, 3);
    msnap_snapshot_free(s);
}

static void devices_with_holes(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = read_good(f, "good_devices_1_and_5.pickle");
    assert_int_equal(s->n_devices, 2);
    assert_int_equal(s->n_traces, 8);
    assert_int_equal(s->devices[0].device, 1);
    assert_int_equal(s->devices[1].device, 5);
    assert_null(msnap_device_find(s, 0));
    assert_ptr_equal(msnap_device_find(s, 5), &s->devices[1]);
    assert_int_equal(s->devices[0].n_events + s->devices[1].n_events, s->events.n);
    assert_non_null(msnap_device_default(s));
    msnap_snapshot_free(s);
}

static void nothing_in_it_is_a_snapshot_too(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = read_good(f, "good_uncached.pickle");
    assert_int_equal(s->n_devices, 0);
    assert_null(msnap_device_default(s));
    msnap_snapshot_free(s);
    msnap_snapshot_free(NULL);
}

static void unknown_keys_and_actions_are_counted_and_named(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = read_good(f, "odd_unknown_keys.pickle");
    assert_true(s->n_oddities > 0);
    msnap_snapshot_free(s);
    s = read_good(f, "odd_unknown_action.pickle");
    bool found = false;
    for (size_t i = 0; i < s->events.n; i++)
        found |= !strcmp(msnap_action_name(s, s->events.action[i]), "teleport");
    assert_true(found);
    msnap_snapshot_free(s);
}

static void the_memory_limit_holds(void **state)
{
    struct fixture *f = *state;
    size_t n;
    unsigned char *bytes = file_bytes("good_protocol4.pickle", &n);
    struct msnap_open_options o = {.mem = counting_mem(&f->mem), .max_memory = 4096};
    struct msnap_snapshot *s = NULL;
    assert_int_equal(msnap_snapshot_read(bytes, n, &o, &s, &f->err), MSNAP_ELIMIT);
    assert_null(s);
    free(bytes);
}

static int stop(void *ctx, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    ++*(int *)ctx;
    return 1;
}

static void progress_can_stop_the_reading(void **state)
{
    struct fixture *f = *state;
    size_t n;
    int calls = 0;
    unsigned char *bytes = file_bytes("real/gpt_var.oom.pickle.gz", &n);
    struct msnap_open_options o = {.mem = counting_mem(&f->mem), .progress = stop, .progress_ctx = &calls};
    struct msnap_snapshot *s = NULL;
    const enum msnap_status status = msnap_snapshot_read(bytes, n, &o, &s, &f->err);
    if (calls) {
        assert_int_equal(status, MSNAP_ECANCELLED);
        assert_int_equal(calls, 1);
    } else {
        assert_int_equal(status, MSNAP_OK); /* too small a file to be asked */
        msnap_snapshot_free(s);
    }
    free(bytes);
}

static void counting_alone_gives_the_same_counts(void **state)
{
    struct fixture *f = *state;
    size_t n;
    unsigned char *bytes = file_bytes("good_protocol4.pickle", &n);
    struct msnap_open_options o = {.mem = counting_mem(&f->mem), .counts_only = true};
    struct msnap_snapshot *a = read_good(f, "good_protocol4.pickle"), *s = NULL;
    uint64_t by_action[256] = {0};
    assert_int_equal(msnap_snapshot_read(bytes, n, &o, &s, &f->err), MSNAP_OK);
    assert_int_equal(s->events.n, a->events.n);
    assert_null(s->events.addr);
    assert_non_null(s->counts);
    for (size_t i = 0; i < a->devices[0].n_events; i++)
        by_action[a->events.action[a->devices[0].first_event + i]]++;
    assert_memory_equal(by_action, s->counts[0].by_action, sizeof by_action);
    assert_int_equal(s->counts[0].first_time_us, a->events.time_us[0]);
    assert_int_equal(s->counts[0].last_time_us, a->events.time_us[a->events.n - 1]);
    assert_int_equal(s->stacks.n_used, a->stacks.n_used);
    msnap_snapshot_free(s);
    msnap_snapshot_free(a);
    free(bytes);
}

/* Two traces that share their entries are no single runs of rows: then all is read. */
static void what_cannot_be_counted_is_read(void **state)
{
    struct fixture *f = *state;
    size_t n;
    unsigned char *bytes = file_bytes("good_devices_1_and_5.pickle", &n);
    struct msnap_open_options o = {.mem = counting_mem(&f->mem), .counts_only = true};
    struct msnap_snapshot *s = NULL;
    assert_int_equal(msnap_snapshot_read(bytes, n, &o, &s, &f->err), MSNAP_OK);
    assert_null(s->counts);
    assert_non_null(s->events.addr);
    assert_int_equal(s->n_devices, 2);
    msnap_snapshot_free(s);
    free(bytes);
}

static void without_an_error_struct_it_still_fails(void **state)
{
    (void)state;
    struct msnap_snapshot *s = NULL;
    assert_int_equal(msnap_snapshot_read("x", 1, NULL, &s, NULL), MSNAP_EFORMAT);
    assert_int_equal(msnap_snapshot_read("", 0, NULL, &s, NULL), MSNAP_EFORMAT);
    assert_int_equal(msnap_snapshot_open("/nonexistent/file", NULL, &s, NULL), MSNAP_EIO);
    assert_null(s);
}

static void scripts_say_what_they_say(void **state)
{
    struct fixture *f = *state;
    struct msnap_snapshot *s = script_snapshot(counting_mem(&f->mem), "seg 0 2M, alloc 0 1000 @aB #7, free 0 1000, oom 64M 3M | alloc 512 9 @", "0: 1024i 512a500@B 2095616i #7");
    assert_int_equal(s->events.n, 6);
    assert_int_equal(s->n_devices, 2);
    assert_int_equal(s->events.action[4], MSNAP_OOM);
    assert_int_equal(s->events.addr[4], 3 << 20);
    assert_int_equal(s->events.size[4], 64 << 20);
    assert_int_equal(s->events.stack[5], MSNAP_STACK_EMPTY);
    assert_int_equal(s->events.stack[0], MSNAP_STACK_NONE);
    assert_int_equal(s->streams.raw[s->events.stream[1]], 7);
    assert_int_equal(s->blocks.requested_size[1], 500);
    const uint32_t user = msnap_stack_user_frame(s, s->events.stack[1]);
    assert_int_equal(s->frames.line[user], 'B');
    assert_false(msnap_frame_is_user(s, s->stacks.frame[s->events.stack[1]]));
    msnap_snapshot_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scripts_say_what_they_say),
        TEST(every_writer_and_protocol_gives_the_same_columns),
        TEST(both_real_writers_give_the_same_columns),
        TEST(older_forms_have_the_same_blocks),
        TEST(every_prefix_is_an_error_with_its_place),
        TEST(what_calls_or_builds_is_refused_by_name_and_place),
        TEST(the_places_of_errors_count_in_the_inflated_bytes),
        TEST(numbers_beyond_63_bits_keep_their_bits),
        TEST(devices_with_holes),
        TEST(nothing_in_it_is_a_snapshot_too),
        TEST(unknown_keys_and_actions_are_counted_and_named),
        TEST(the_memory_limit_holds),
        TEST(progress_can_stop_the_reading),
        TEST(counting_alone_gives_the_same_counts),
        TEST(what_cannot_be_counted_is_read),
        TEST(without_an_error_struct_it_still_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
