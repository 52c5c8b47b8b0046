/* states.c -- states of the games, from arbitrary bytes and arbitrary codes.
 *
 * Bytes are a state exactly if some code gives them; a code is taken exactly if the
 * plain rules have that position; a state that is accepted gives its code back and
 * then plays as the plain rules do.
 */
#include "plain_games.h"

#include "game.h"

enum { GAMES = 8, MOST_PATCHES = 8 };

typedef struct {
    ff_game kernel;
    plain_game plain;
} game;

static void init_drop(game *g, int n, int m, int k) {
    EXPECT(ff_drop_oldest_init(&g->kernel, n, m, k) == FF_OK);
    g->plain = (plain_game){.rows = n, .columns = n, .length = k, .m = m};
}

static void init_gomoku(game *g, int size) {
    EXPECT(ff_gomoku_init(&g->kernel, size) == FF_OK);
    g->plain = (plain_game){.rows = size, .columns = size, .length = 5};
}

static const game *games(void) {
    static game made[GAMES];
    if (made[0].plain.rows) return made;
    init_drop(&made[0], 3, 2, 2);
    init_drop(&made[1], 3, 3, 3);
    init_drop(&made[2], 4, 4, 4);
    init_drop(&made[3], 5, 5, 4);
    EXPECT(ff_connect4_init(&made[4].kernel) == FF_OK);
    made[4].plain = (plain_game){.rows = 6, .columns = 7, .length = 4, .falls = 1};
    init_gomoku(&made[5], 9);
    init_gomoku(&made[6], 15);
    init_gomoku(&made[7], 19);
    return made;
}

/* A state and a code, each in memory of just its size. */
typedef struct {
    uint8_t *state;
    int8_t *code;
} buffers;

/* ---- the laws of a state ------------------------------------------------------ */

/* The empty cells of lines in which only `owner` has stones and `missing` cells are empty. */
static void plain_threats(const plain_game *g, const int8_t *code, int owner, int missing,
                          float *plane) {
    static const int steps[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    for (int cell = 0; cell < plain_cells(g); cell++)
        for (int s = 0; s < 4; s++) {
            const int row = cell / g->columns, column = cell % g->columns;
            const int down = steps[s][0], right = steps[s][1], last = g->length - 1;
            if (row + last * down >= g->rows || column + last * right >= g->columns ||
                column + last * right < 0)
                continue;
            int own = 0, empty = 0;
            for (int i = 0; i < g->length; i++) {
                const int8_t stone = code[cell + i * (down * g->columns + right)];
                own += stone == owner;
                empty += stone == 0;
            }
            for (int i = 0; i < g->length && own + missing == g->length && empty == missing; i++) {
                const int at = cell + i * (down * g->columns + right);
                if (code[at] == 0) plane[at] = 1;
            }
        }
}

static void check_planes(const game *g, const uint8_t *state, const int8_t *code) {
    const int cells = plain_cells(&g->plain), m = g->plain.m, side = plain_side(&g->plain, code);
    float planes[FF_MAX_PLANE_FLOATS], expected[FF_MAX_PLANE_FLOATS] = {0};
    ff_fill_planes(&g->kernel, state, 1, NULL, planes);
    for (int owner = 0; owner < 2; owner++) {
        const int whose = owner != side; /* 0 the mover's planes, 1 the opponent's */
        int pieces = 0;
        while (pieces < m && code[owner * m + pieces] != -1) pieces++;
        for (int i = 0; i < pieces; i++) /* the newest piece is on the last plane */
            expected[(whose * m + m - pieces + i) * cells + code[owner * m + i]] = 1;
        for (int cell = 0; !m && cell < cells; cell++)
            expected[whose * cells + cell] = code[cell] == (owner ? -1 : 1);
        for (int missing = 1; !m && 2 * missing < g->kernel.planes; missing++)
            plain_threats(&g->plain, code, owner ? -1 : 1, missing,
                          expected + (2 * missing + whose) * cells);
    }
    EXPECT(!memcmp(planes, expected, sizeof(float) * (size_t)(g->kernel.planes * cells)));
}

static void check_moves(const game *g, const uint8_t *state, const int8_t *code, int chosen) {
    const size_t state_bytes = (size_t)g->kernel.state_bytes;
    const size_t length = (size_t)g->kernel.code_length;
    uint8_t masks[FF_MAX_ACTIONS];
    int16_t cells[FF_MAX_ACTIONS];
    ff_legal_masks(&g->kernel, state, 1, masks);
    plain_moves(&g->plain, code, cells);
    for (int action = 0; action < g->kernel.actions; action++)
        EXPECT(masks[action] == (cells[action] >= 0));
    int8_t result, after_code[PLAIN_CELLS + 1], expected[PLAIN_CELLS + 1];
    uint64_t after[FF_MAX_STATE_BYTES / 8];
    const int32_t action = chosen;
    const int cell = action < 0 || action >= g->kernel.actions ? -1 : cells[action];
    memcpy(after, state, state_bytes);
    EXPECT(ff_play_actions(&g->kernel, (uint8_t *)after, &action, 1, &result) == (cell >= 0));
    if (cell < 0) {
        EXPECT(!memcmp(after, state, state_bytes));
        return;
    }
    memcpy(expected, code, length);
    plain_place(&g->plain, expected, cell);
    EXPECT(ff_check_states(&g->kernel, (uint8_t *)after, 1) == 1);
    ff_encode_states(&g->kernel, (uint8_t *)after, 1, after_code);
    EXPECT(!memcmp(after_code, expected, length));
    EXPECT(result == plain_result(&g->plain, expected));
}

/* Bytes that were accepted as a state. */
static void check_state(const game *g, const buffers *at, int chosen) {
    const ff_game *kernel = &g->kernel;
    uint64_t again[FF_MAX_STATE_BYTES / 8];
    ff_encode_states(kernel, at->state, 1, at->code);
    EXPECT(plain_is_position(&g->plain, at->code));
    EXPECT(ff_decode_states(kernel, at->code, 1, (uint8_t *)again) == 1);
    EXPECT(!memcmp(again, at->state, (size_t)kernel->state_bytes));
    EXPECT(kernel->result(kernel, at->state) == plain_result(&g->plain, at->code));
    EXPECT(kernel->to_move(kernel, at->state) == plain_side(&g->plain, at->code));
    check_planes(g, at->state, at->code);
    check_moves(g, at->state, at->code, chosen);
    fuzz_accept();
}

/* ---- states from bytes --------------------------------------------------------- */

/* Plays as many moves as the first byte says. */
static void play_some(const game *g, fuzz_input *input, uint8_t *state) {
    g->kernel.start(&g->kernel, state);
    for (int left = fuzz_byte(input); left; left--) {
        uint16_t actions[FF_MAX_ACTIONS];
        const int legal = g->kernel.legal(&g->kernel, state, actions);
        if (!legal) return;
        g->kernel.play(&g->kernel, state, actions[fuzz_below(input, (uint64_t)legal)]);
    }
}

static void patch(fuzz_input *input, uint8_t *bytes, int size) {
    for (int i = 0; i < MOST_PATCHES && input->size; i++) {
        const uint64_t place = fuzz_below(input, (uint64_t)size);
        bytes[place] ^= fuzz_byte(input);
    }
}

static void fill(fuzz_input *input, uint8_t *bytes, int size) {
    for (int i = 0; i < size; i++) bytes[i] = fuzz_byte(input);
}

static void check_code(const game *g, const buffers *at, int chosen) {
    const ff_game *kernel = &g->kernel;
    int8_t given[PLAIN_CELLS + 1];
    const int is_position = plain_is_position(&g->plain, at->code);
    EXPECT(ff_decode_states(kernel, at->code, 1, at->state) == (size_t)is_position);
    if (!is_position) return;
    memcpy(given, at->code, (size_t)kernel->code_length);
    EXPECT(ff_check_states(kernel, at->state, 1) == 1);
    check_state(g, at, chosen);
    EXPECT(!memcmp(given, at->code, (size_t)kernel->code_length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input input = fuzz_begin(data, size);
    const game *g = &games()[fuzz_below(&input, GAMES)];
    const ff_game *kernel = &g->kernel;
    const int way = fuzz_byte(&input) & 3, chosen = fuzz_byte(&input) - 1;
    const buffers at = {malloc((size_t)kernel->state_bytes), malloc((size_t)kernel->code_length)};
    if (way & 1) { /* a code */
        if (way & 2) fill(&input, (uint8_t *)at.code, kernel->code_length);
        else {
            play_some(g, &input, at.state);
            ff_encode_states(kernel, at.state, 1, at.code);
            patch(&input, (uint8_t *)at.code, kernel->code_length);
        }
        check_code(g, &at, chosen);
    } else { /* the bytes of a state */
        if (way & 2) fill(&input, at.state, kernel->state_bytes);
        else {
            play_some(g, &input, at.state);
            patch(&input, at.state, kernel->state_bytes);
        }
        if (ff_check_states(kernel, at.state, 1)) check_state(g, &at, chosen);
    }
    free(at.state);
    free(at.code);
    return 0;
}
