#include "game.h"

#include <string.h>

#include "symmetry.h"

void ff_game_begin(ff_game *game, const char *name) {
    memset(game, 0, sizeof *game);
    strncpy(game->name, name, sizeof game->name - 1);
}

void ff_game_square(ff_game *game, int size) {
    game->rows = game->columns = size;
    game->actions = size * size;
    game->symmetries = 8;
    for (int t = 0; t < game->symmetries; t++)
        for (int cell = 0; cell < size * size; cell++)
            game->cell_image[t][cell] = game->action_image[t][cell] =
                (uint16_t)ff_carried(size, t, cell);
}

int ff_is_legal(const ff_game *game, const void *state, int action) {
    uint16_t actions[FF_MAX_ACTIONS];
    int count = game->legal(game, state, actions);
    for (int i = 0; i < count; i++)
        if (actions[i] == action) return 1;
    return 0;
}

/* ---- many states at once --------------------------------------------------- */

size_t ff_check_states(const ff_game *game, const uint8_t *states, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!game->is_state(game, states + i * (size_t)game->state_bytes)) return i;
    return count;
}

void ff_legal_masks(const ff_game *game, const uint8_t *states, size_t count, uint8_t *masks) {
    memset(masks, 0, count * (size_t)game->actions);
    for (size_t i = 0; i < count; i++) {
        uint16_t actions[FF_MAX_ACTIONS];
        int legal = game->legal(game, states + i * (size_t)game->state_bytes, actions);
        for (int j = 0; j < legal; j++) masks[i * (size_t)game->actions + actions[j]] = 1;
    }
}

void ff_results(const ff_game *game, const uint8_t *states, size_t count, int8_t *results) {
    for (size_t i = 0; i < count; i++)
        results[i] = (int8_t)game->result(game, states + i * (size_t)game->state_bytes);
}

void ff_sides(const ff_game *game, const uint8_t *states, size_t count, int8_t *sides) {
    for (size_t i = 0; i < count; i++)
        sides[i] = (int8_t)game->to_move(game, states + i * (size_t)game->state_bytes);
}

void ff_encode_states(const ff_game *game, const uint8_t *states, size_t count, int8_t *codes) {
    for (size_t i = 0; i < count; i++)
        game->encode(game, states + i * (size_t)game->state_bytes,
                     codes + i * (size_t)game->code_length);
}

size_t ff_decode_states(const ff_game *game, const int8_t *codes, size_t count,
                        uint8_t *states) {
    for (size_t i = 0; i < count; i++)
        if (game->decode(game, codes + i * (size_t)game->code_length,
                         states + i * (size_t)game->state_bytes) != FF_OK)
            return i;
    return count;
}

size_t ff_play_actions(const ff_game *game, uint8_t *states, const int32_t *actions,
                       size_t count, int8_t *results) {
    for (size_t i = 0; i < count; i++) {
        uint8_t *state = states + i * (size_t)game->state_bytes;
        if (!ff_is_legal(game, state, actions[i])) return i;
        results[i] = (int8_t)game->play(game, state, actions[i]);
    }
    return count;
}

static void carry_planes(const ff_game *game, int transform, const float *from, float *to) {
    const int cells = game->rows * game->columns;
    for (int plane = 0; plane < game->planes; plane++, from += cells, to += cells)
        for (int cell = 0; cell < cells; cell++)
            to[game->cell_image[transform][cell]] = from[cell];
}

void ff_fill_planes(const ff_game *game, const uint8_t *states, size_t count,
                    const uint8_t *transforms, float *planes) {
    const size_t floats = ff_plane_floats(game);
    float upright[FF_MAX_PLANE_FLOATS];
    for (size_t i = 0; i < count; i++, planes += floats) {
        const uint8_t *state = states + i * (size_t)game->state_bytes;
        if (!transforms || transforms[i] == 0) {
            game->fill_planes(game, state, planes);
        } else {
            game->fill_planes(game, state, upright);
            carry_planes(game, transforms[i], upright, planes);
        }
    }
}
