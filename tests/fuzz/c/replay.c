/* replay.c -- a target without a fuzzer: each input of a file, once.
 *
 * The file has for each input its length (4 bytes, little endian) and its bytes.
 */
#include "fuzz.h"

int main(int count, char **words) {
    FILE *file = count == 2 ? fopen(words[1], "rb") : NULL;
    uint8_t length[4];
    if (!file) return 2;
    while (fread(length, 1, 4, file) == 4) {
        const size_t size =
            length[0] | length[1] << 8 | length[2] << 16 | (size_t)length[3] << 24;
        uint8_t *data = malloc(size + !size); /* of its own, so that ASan sees its end */
        EXPECT(fread(data, 1, size, file) == size);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    return fclose(file);
}
