/* corpus_main.c -- replays files through a fuzz target, with any compiler: TARGET FILE... */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *in = fopen(argv[i], "rb");
        if (!in || fseek(in, 0, SEEK_END) != 0) {
            perror(argv[i]);
            return 1;
        }
        const long size = ftell(in);
        uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
        rewind(in);
        if (size < 0 || !bytes || fread(bytes, 1, (size_t)size, in) != (size_t)size) {
            perror(argv[i]);
            return 1;
        }
        fclose(in);
        LLVMFuzzerTestOneInput(bytes, (size_t)size);
        /* Cut anywhere, it must be refused or read as well. */
        for (size_t step = (size_t)size / 50 + 1, n = 0; n < (size_t)size; n += step)
            LLVMFuzzerTestOneInput(bytes, n);
        free(bytes);
    }
    printf("%d files\n", argc - 1);
    return 0;
}
