/* results_gather.h -- what many settled rows add to one group, in one visit.
 *
 * All that settling adds to the group b0 .. b(h-1) f a1 .. a(h-1) arises in the groups
 * b1 .. bh a1 .. ah, for all bh and ah: one winning cell bh of its column ah for each lost
 * parent.  They share b1 .. b(h-1) a1 .. a(h-2), and each group has rows b0 and parents f.
 * So the settled groups with that beginning are taken together, and what they add is first
 * gathered in a small array that stays in the cache:
 *
 *     added[b0][a(h-1)][f][ah]  =  0, 1 + bh, or FF_WIN_SEVERAL
 *
 * Sixteen bytes are all that is added to one target, which is ranked and visited once.  Here all
 * cells are numbered by the cells outside the beginning, in rising order.  The target has an
 * order of its own: its transform exchanges cells, and its free cells do not include b0, f and
 * a(h-1).  So the bytes change their places, and what they say, by a table each.
 *
 * For boards of up to 16 cells.  Included by results_settle.c only.
 */
#ifndef FF_RESULTS_GATHER_H
#define FF_RESULTS_GATHER_H

#include "results_groups.h"

enum {
    FF_GATHER_BOARD = 16,
    FF_GATHER_FREE = 13, /* 4 x 4 with m = 4; there are 11 with m = 5, 9 with m = 6 */
    FF_GATHER_BYTES = 16
};

/* What is added to the columns of a group, by ah: in the order of the beginning, or of the
 * target. */
typedef struct {
    uint8_t column[FF_GATHER_BYTES];
} ff_addition;

typedef struct {
    int free;                        /* cells outside the beginning */
    uint32_t cells;                  /* the set of them */
    uint8_t cell[FF_GATHER_FREE];    /* which they are */
    uint8_t number[FF_GATHER_BOARD]; /* and their numbers */
    /* By b0: the a(h-1) for which anything was added; by both, the f's. */
    uint16_t used[FF_GATHER_FREE];
    uint16_t parents[FF_GATHER_FREE][FF_GATHER_FREE];
    /* By a(h-1) and ah: the b0 whose row is won throughout for some bh. */
    uint16_t won[FF_GATHER_FREE][FF_GATHER_FREE];
    int any_won;
    ff_addition added[FF_GATHER_FREE][FF_GATHER_FREE][FF_GATHER_FREE];
} ff_gathered;

static inline void ff_gather_begin(ff_gathered *gathered, uint32_t cells) {
    gathered->free = 0;
    gathered->cells = cells;
    for (; cells; cells &= cells - 1) {
        const int cell = __builtin_ctz(cells);
        gathered->number[cell] = (uint8_t)gathered->free;
        gathered->cell[gathered->free++] = (uint8_t)cell;
    }
}

/* Row b0 of a group has these lost parents. */
FF_INLINE void ff_gather_row(ff_gathered *gathered, int b0, int last, int ah, int bh,
                             uint32_t parents) {
    ff_addition *added = gathered->added[b0][last];
    gathered->used[b0] |= (uint16_t)ff_bit(last);
    gathered->parents[b0][last] |= (uint16_t)parents;
    for (; parents; parents &= parents - 1) {
        uint8_t *column = &added[__builtin_ctz(parents)].column[ah];
        *column = *column ? FF_WIN_SEVERAL : (uint8_t)(bh + 1);
    }
}

/* The targets that share b0: how their cells lie. */
typedef struct {
    ff_open_place open;             /* f is the open cell */
    uint8_t image[FF_GATHER_BYTES]; /* of the free cells */
    uint8_t place[FF_GATHER_BYTES]; /* their order, if f were one of them */
    uint8_t order[FF_GATHER_BYTES]; /* and which is in each place */
} ff_targets;

/* `rest`: a1 .. a(h-2). Returns 0 if b0 .. b(h-1) do not break the symmetry. */
static inline int ff_targets_init(ff_targets *targets, const ff_index *index,
                                  const ff_gathered *gathered, const uint8_t *first, int half,
                                  const uint8_t *rest) {
    if (!ff_open_beginning_init(&targets->open, index, first, half, rest, half - 2, 2 * half))
        return 0;
    memset(targets->image, 0, sizeof targets->image);
    memset(targets->place, 0, sizeof targets->place);
    memset(targets->order, 0, sizeof targets->order);
    for (int i = 0; i < gathered->free; i++) {
        const int image = targets->open.image[gathered->cell[i]];
        const int place = ff_digit(targets->open.used, image);
        targets->image[i] = (uint8_t)image;
        targets->place[i] = (uint8_t)place;
        if (gathered->cell[i] != first[0]) targets->order[place] = (uint8_t)i;
    }
    return 1;
}

/* A target, as far as it does not depend on a(h-1). */
typedef struct {
    uint64_t first; /* of the groups that differ in a(h-1) alone */
    uint8_t place[FF_GATHER_BYTES], order[FF_GATHER_BYTES];
} ff_gather_target;

#ifdef FF_SSE4_1

/* Bytes i and, from `place` on, i + 1. */
static inline __m128i ff_skipping(int place) {
    const __m128i all = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i below = _mm_cmplt_epi8(all, _mm_set1_epi8((char)place));
    return _mm_sub_epi8(_mm_add_epi8(all, _mm_set1_epi8(1)), _mm_and_si128(below, _mm_set1_epi8(1)));
}

static inline __m128i ff_sixteen(const uint8_t *bytes) {
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

#endif

/* The target of this f: its places are those behind which f is no longer, its order is without it. */
FF_INLINE ff_gather_target ff_target_of(const ff_targets *targets, int f) {
    ff_gather_target target;
    target.first = ff_open_rank(&targets->open, targets->image[f]);
#ifdef FF_SSE4_1
    const __m128i behind =
        _mm_cmpgt_epi8(ff_sixteen(targets->image), _mm_set1_epi8((char)targets->image[f]));
    _mm_storeu_si128((__m128i *)(void *)target.place,
                     _mm_add_epi8(ff_sixteen(targets->place), behind));
    _mm_storeu_si128(
        (__m128i *)(void *)target.order,
        _mm_shuffle_epi8(ff_sixteen(targets->order), ff_skipping(targets->place[f])));
#else
    for (int i = 0; i < FF_GATHER_BYTES; i++)
        target.place[i] =
            (uint8_t)(targets->place[i] - (targets->image[i] > targets->image[f]));
    for (int i = 0; i < FF_GATHER_BYTES - 1; i++)
        target.order[i] = targets->order[i + (i >= targets->place[f])];
    target.order[FF_GATHER_BYTES - 1] = 0;
#endif
    return target;
}

/* What is added, in the order of the target with this a(h-1). */
FF_INLINE void ff_addition_of(const ff_gather_target *target, int last,
                              const ff_addition *added, int rows, ff_addition *addition) {
    const int skipped = target->place[last];
#ifdef FF_SSE4_1
    const __m128i place = ff_sixteen(target->place), one = _mm_set1_epi8(1);
    const __m128i behind = _mm_cmpgt_epi8(place, _mm_set1_epi8((char)skipped));
    const __m128i cell = _mm_add_epi8(_mm_add_epi8(place, behind), one);
    const __m128i from = ff_sixteen(added->column);
    const __m128i several = _mm_and_si128(from, _mm_set1_epi8(FF_WIN_SEVERAL));
    const __m128i said = _mm_or_si128(_mm_shuffle_epi8(_mm_slli_si128(cell, 1), from), several);
    const __m128i order = _mm_shuffle_epi8(ff_sixteen(target->order), ff_skipping(skipped));
    const __m128i all = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i inside = _mm_cmplt_epi8(all, _mm_set1_epi8((char)rows));
    _mm_storeu_si128((__m128i *)(void *)addition->column,
                     _mm_and_si128(_mm_shuffle_epi8(said, order), inside));
#else
    memset(addition, 0, sizeof *addition);
    for (int c = 0; c < rows; c++) {
        const uint8_t said = added->column[target->order[c + (c >= skipped)]];
        if (said == 0 || said == FF_WIN_SEVERAL) {
            addition->column[c] = said;
            continue;
        }
        const int place = target->place[said - 1];
        addition->column[c] = (uint8_t)(1 + place - (place > skipped));
    }
#endif
}

/* The columns after the addition, as ff_with_winning_cell would make them. */
FF_INLINE ff_group_columns ff_columns_added(const ff_group_columns *columns,
                                            const ff_addition *addition, int rows) {
    ff_group_columns next = *columns;
#ifdef FF_SSE2
    const __m128i several = _mm_set1_epi8(FF_WIN_SEVERAL), old = _mm_set1_epi8(FF_WIN_OLD);
    const __m128i known = columns->low, zero = _mm_setzero_si128();
    const __m128i added = _mm_loadu_si128((const __m128i *)(const void *)addition->column);
    const __m128i cell = _mm_and_si128(known, _mm_set1_epi8(FF_WIN_CELL));
    const __m128i keep = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(added, zero), _mm_cmpeq_epi8(added, cell)),
        _mm_cmpeq_epi8(_mm_and_si128(known, several), several));
    const __m128i was_old = _mm_cmpeq_epi8(_mm_and_si128(known, old), old);
    const __m128i many = _mm_or_si128(several, _mm_and_si128(known, was_old));
    const __m128i none = _mm_cmpeq_epi8(cell, zero);
    const __m128i now = _mm_or_si128(_mm_and_si128(none, added), _mm_andnot_si128(none, many));
    next.low = _mm_or_si128(_mm_and_si128(keep, known), _mm_andnot_si128(keep, now));
    (void)rows;
#else
    for (int c = 0; c < rows; c++) {
        const uint8_t known = columns->column[c], added = addition->column[c];
        if (added == FF_WIN_SEVERAL && !(known & FF_WIN_SEVERAL))
            next.column[c] = (uint8_t)(FF_WIN_SEVERAL | (known & FF_WIN_OLD ? known : 0));
        else if (added != 0 && added != FF_WIN_SEVERAL)
            next.column[c] = ff_with_winning_cell(known, added);
    }
#endif
    return next;
}

/* Other threads may be reading the group. */
FF_INLINE void add_to_group(const ff_results_solve *solve, uint64_t group,
                            const ff_addition *addition, int rows) {
    uint8_t *at = group_at(solve, group);
    const ff_group_columns columns = columns_at(solve, at);
    const ff_group_columns next = ff_columns_added(&columns, addition, rows);
    uint32_t changed = ff_columns_that_differ(&columns, &next, rows);
    if (changed == 0) return;
    touch_block(solve, group);
    if (is_word(solve) || is_double(solve)) {
        put_columns(solve, at, &next, flags_at(solve, at) | FF_TOUCHED);
        return;
    }
    uint8_t bytes[32];
    ff_columns_to_bytes(&next, rows, bytes);
    for (; changed; changed &= changed - 1) {
        const int c = __builtin_ctz(changed);
        ff_shared_store(at + c, bytes[c]);
    }
    ff_shared_store(at + rows, at[rows] | FF_TOUCHED);
}

#endif
