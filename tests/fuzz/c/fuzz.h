/* fuzz.h -- what every C target has: an input read piece by piece, and a way to fail.
 *
 * A target takes any bytes.  It aborts where a kernel breaks its word; the sanitizers
 * abort where it breaks the language; fuzz_begin aborts what takes too long, by the
 * processor's time: others may need the machine.  fuzz_accept counts the inputs that got past
 * every refusal, in the eight bytes of the file that FUZZ_ACCEPTED names.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { FUZZ_SECONDS = 10 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EXPECT(law)                                                               \
    do {                                                                          \
        if (!(law)) {                                                             \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #law);     \
            abort();                                                              \
        }                                                                         \
    } while (0)

typedef struct {
    const uint8_t *data;
    size_t size;
} fuzz_input;

static inline void fuzz_too_long(int signal) {
    (void)signal;
    abort();
}

/* Each target begins with it. */
static inline fuzz_input fuzz_begin(const uint8_t *data, size_t size) {
    const struct itimerval limit = {.it_value = {.tv_sec = FUZZ_SECONDS}};
    signal(SIGPROF, fuzz_too_long);
    setitimer(ITIMER_PROF, &limit, NULL);
    return (fuzz_input){data, size};
}

/* The next byte; 0 once there is none. */
static inline uint8_t fuzz_byte(fuzz_input *input) {
    if (!input->size) return 0;
    input->size--;
    return *input->data++;
}

/* A number below `end`, from as many bytes as that takes. */
static inline uint64_t fuzz_below(fuzz_input *input, uint64_t end) {
    uint64_t number = 0;
    for (uint64_t reach = end - 1; reach; reach >>= 8) number = number << 8 | fuzz_byte(input);
    return number % end;
}

static inline void fuzz_accept(void) {
    static uint64_t *counter, alone;
    if (!counter) {
        const char *path = getenv("FUZZ_ACCEPTED");
        const int file = path ? open(path, O_RDWR) : -1;
        void *shared = file < 0 ? MAP_FAILED
                                : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        counter = shared == MAP_FAILED ? &alone : shared;
        if (file >= 0) close(file);
    }
    ++*counter;
}

#endif
