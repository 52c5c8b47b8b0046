/* gomoku_tactics.c -- see gomoku_tactics.h. */
#include "gomoku_tactics.h"

#include <string.h>

enum { EVER = 255, SEARCHED_FROM = 3 };

/* What is known of a frame.  WINS and NEVER are final; NOT_YET: no win with the moves left. */
enum { OPENED, WINS, NEVER, NOT_YET };

/* ---- table -------------------------------------------------------------------------- */

static unsigned kind_of(const ff_gomoku_tactics *tactics) {
    return 1u + (unsigned)tactics->attacker + 2u * (unsigned)tactics->threes;
}

static uint64_t *bucket(const ff_gomoku_tactics *tactics) {
    const uint64_t mixed = (tactics->board.hash + kind_of(tactics)) * 0x9e3779b97f4a7c15u;
    return tactics->table + (mixed >> (64 - tactics->bits) & ~(uint64_t)1) * FF_GOMOKU_ENTRY_WORDS;
}

static int speaks_for(const ff_gomoku_tactics *tactics, const uint64_t *entry) {
    return (entry[12] >> 16 & 255) == kind_of(tactics) &&
           !memcmp(entry, tactics->board.bits, sizeof tactics->board.bits);
}

/* The entry of this position, or NULL. */
static uint64_t *entry_of(const ff_gomoku_tactics *tactics) {
    uint64_t *entry = bucket(tactics);
    if (speaks_for(tactics, entry)) return entry;
    entry += FF_GOMOKU_ENTRY_WORDS;
    return speaks_for(tactics, entry) ? entry : NULL;
}

static int known(const ff_gomoku_tactics *tactics, ff_gomoku_frame *frame) {
    const uint64_t *entry = entry_of(tactics);
    if (!entry) return OPENED;
    const unsigned won = entry[12] & 255, none = entry[12] >> 8 & 255;
    if (won && won <= frame->left) {
        frame->best = (uint16_t)(entry[12] >> 32);
        return WINS;
    }
    if (none < frame->left) return OPENED;
    return none == EVER ? NEVER : NOT_YET;
}

static void remember(ff_gomoku_tactics *tactics, const ff_gomoku_frame *frame, int verdict) {
    uint64_t *entry = entry_of(tactics);
    uint64_t won = 0, none = 0, move = 0;
    if (entry) {
        won = entry[12] & 255;
        none = entry[12] >> 8 & 255;
        move = entry[12] >> 32 & 0xffff;
    } else {
        entry = bucket(tactics);
        if ((entry[12] >> 24 & 255) > frame->left) entry += FF_GOMOKU_ENTRY_WORDS;
        memcpy(entry, tactics->board.bits, sizeof tactics->board.bits);
    }
    if (verdict == WINS && (!won || frame->left < won)) {
        won = frame->left;
        move = frame->best;
    }
    if (verdict == NEVER) none = EVER;
    if (verdict == NOT_YET && frame->left > none) none = frame->left;
    entry[12] = won | none << 8 | (uint64_t)kind_of(tactics) << 16 |
                (uint64_t)frame->left << 24 | move << 32;
}

/* ---- the attacker's turn ------------------------------------------------------------ */

static void add(ff_gomoku_frame *frame, int cell) {
    frame->move[frame->count++] = (uint16_t)cell;
}

/* Does a stone here, which makes no four, leave a cell for a double four?  No cell has two
 * partners yet, so such a cell has a partner by a window that this stone raises to level 3,
 * and another one by such a window or from before. */
static int makes_three(const ff_gomoku_board *board, int side, int cell,
                       const ff_gomoku_partners *partners) {
    uint16_t pair[40][2];
    int pairs = 0;
    for (int i = 0; i < board->cell_windows[cell]; i++) {
        const int window = board->cell_window[cell][i];
        if (board->count[side][window] != 2 || board->count[!side][window]) continue;
        uint16_t empty[3];
        ff_gomoku_empty_cells(board, window, empty);
        const int first = empty[0] == cell, last = empty[2] == cell ? 1 : 2;
        for (int turn = 0; turn < 2; turn++) {
            const uint16_t at = empty[turn ? last : first], other = empty[turn ? first : last];
            if (partners->count[at] && partners->partner[at][0] != other) return 1;
            for (int k = 0; k < pairs; k++)
                if (pair[k][0] == at && pair[k][1] != other) return 1;
            pair[pairs][0] = at;
            pair[pairs++][1] = other;
        }
    }
    return 0;
}

static void add_threes(const ff_gomoku_board *board, int side, const ff_gomoku_partners *partners,
                       ff_gomoku_frame *frame) {
    uint8_t seen[361] = {0};
    FF_GOMOKU_EACH(window, board->level[side][2], board->words) {
        uint16_t empty[5];
        ff_gomoku_empty_cells(board, window, empty);
        for (int i = 0; i < 3; i++) {
            const int cell = empty[i];
            if (seen[cell] || partners->count[cell]) continue;
            seen[cell] = 1;
            if (makes_three(board, side, cell, partners)) add(frame, cell);
        }
    }
}

static int open_attack(ff_gomoku_tactics *tactics, ff_gomoku_frame *frame) {
    const ff_gomoku_board *board = &tactics->board;
    const int side = tactics->attacker;
    int cell[2];
    if (!frame->left) return NOT_YET;
    if (ff_gomoku_completing(board, side, cell)) {
        frame->best = (uint16_t)cell[0];
        return WINS;
    }
    const int to_stop = ff_gomoku_completing(board, !side, cell);
    if (to_stop == 2) return NEVER;
    if (frame->left < 2) return NOT_YET;
    ff_gomoku_partners partners;
    ff_gomoku_find_partners(board, side, &partners);
    for (int i = 0; i < partners.cells; i++) {
        const uint16_t at = partners.cell[i];
        if (partners.count[at] < 2 || (to_stop && at != cell[0])) continue;
        frame->best = at;
        return WINS;
    }
    if (frame->left < SEARCHED_FROM) return NOT_YET;
    const int verdict = known(tactics, frame);
    if (verdict != OPENED) return verdict;
    if (to_stop) {
        add(frame, cell[0]);
        return OPENED;
    }
    for (int i = 0; i < partners.cells; i++) add(frame, partners.cell[i]);
    if (tactics->threes) add_threes(board, side, &partners, frame);
    return frame->count ? OPENED : NEVER;
}

/* ---- the defender's turn ------------------------------------------------------------ */

static int stops(const ff_gomoku_partners *partners, int at, int reply) {
    const uint16_t *completing = partners->partner[at];
    return reply == at ||
           (partners->count[at] == 2 && (reply == completing[0] || reply == completing[1]));
}

/* The replies that stop every double four.  Returns 0 if there is none to stop. */
static int add_stops(const ff_gomoku_partners *partners, ff_gomoku_frame *frame) {
    int doubles = 0;
    for (int i = 0; i < partners->cells; i++) {
        const int at = partners->cell[i];
        if (partners->count[at] < 2) continue;
        if (!doubles++) {
            add(frame, at);
            if (partners->count[at] == 2) {
                add(frame, partners->partner[at][0]);
                add(frame, partners->partner[at][1]);
            }
            continue;
        }
        const int before = frame->count;
        frame->count = 0;
        for (int k = 0; k < before; k++)
            if (stops(partners, at, frame->move[k])) add(frame, frame->move[k]);
    }
    return doubles > 0;
}

static void add_fours(const ff_gomoku_board *board, int side, ff_gomoku_frame *frame) {
    ff_gomoku_partners partners;
    ff_gomoku_find_partners(board, side, &partners);
    const int others = frame->count;
    for (int i = 0; i < partners.cells; i++) {
        int twice = 0;
        for (int k = 0; k < others; k++) twice |= frame->move[k] == partners.cell[i];
        if (!twice) add(frame, partners.cell[i]);
    }
}

/* What stopped the attacker's last move elsewhere is tried first. */
static void try_first(ff_gomoku_frame *frame, unsigned refutation) {
    for (int i = 1; i < frame->count; i++) {
        if (frame->move[i] + 1u != refutation) continue;
        frame->move[i] = frame->move[0];
        frame->move[0] = (uint16_t)(refutation - 1);
    }
}

static int open_defence(ff_gomoku_tactics *tactics, ff_gomoku_frame *frame, int last) {
    const ff_gomoku_board *board = &tactics->board;
    const int side = tactics->attacker;
    int cell[2];
    if (ff_gomoku_completing(board, !side, cell)) return NEVER;
    const int completing = ff_gomoku_completing(board, side, cell);
    if (completing == 2) return frame->left ? WINS : NOT_YET;
    if (completing) {
        add(frame, cell[0]);
        return OPENED;
    }
    if (!tactics->threes) return NEVER;
    ff_gomoku_partners partners;
    ff_gomoku_find_partners(board, side, &partners);
    if (!add_stops(&partners, frame)) return NEVER;
    if (frame->left < 2) return NOT_YET;
    add_fours(board, !side, frame);
    if (!frame->count) return WINS;
    if (last >= 0) try_first(frame, tactics->refutation[last]);
    return OPENED;
}

/* ---- search ------------------------------------------------------------------------- */

static int open_frame(ff_gomoku_tactics *tactics, int depth, int attacks, int left, int last) {
    ff_gomoku_frame *frame = &tactics->frames[depth];
    frame->count = frame->next = 0;
    frame->attacks = (uint8_t)attacks;
    frame->left = (uint8_t)left;
    frame->cut = 0;
    return attacks ? open_attack(tactics, frame) : open_defence(tactics, frame, last);
}

static int side_of(const ff_gomoku_tactics *tactics, const ff_gomoku_frame *frame) {
    return frame->attacks ? tactics->attacker : !tactics->attacker;
}

/* What the verdict on its latest move says of a frame. */
static int absorb(ff_gomoku_tactics *tactics, int depth, int verdict) {
    ff_gomoku_frame *frame = &tactics->frames[depth];
    const uint16_t move = frame->move[frame->next - 1];
    const int tried_all = frame->next == frame->count;
    if (!frame->attacks) {
        if (verdict == WINS) return tried_all ? WINS : OPENED;
        if (depth) {
            const ff_gomoku_frame *attack = frame - 1;
            tactics->refutation[attack->move[attack->next - 1]] = (uint16_t)(move + 1);
        }
        return verdict;
    }
    if (verdict == WINS) {
        frame->best = move;
        return WINS;
    }
    frame->cut |= verdict == NOT_YET;
    if (!tried_all) return OPENED;
    return frame->cut ? NOT_YET : NEVER;
}

/* The root is decided for this limit. */
static void conclude(ff_gomoku_tactics *tactics, int verdict) {
    tactics->depth = -1;
    if (verdict == WINS) {
        tactics->answer = FF_GOMOKU_WIN;
        tactics->best = tactics->attacker_moves ? tactics->frames[0].best : -1;
    } else if (verdict == NEVER || 2 * tactics->limit > tactics->board.empty) {
        tactics->answer = FF_GOMOKU_NONE; /* more moves than that the board has no room for */
    } else if (tactics->limit == tactics->bound) {
        tactics->answer = FF_GOMOKU_NOT_WITHIN;
    } else {
        tactics->limit++;
    }
}

/* Closes the frame at work with this verdict, and all that are decided by it. */
static void close_frames(ff_gomoku_tactics *tactics, int verdict) {
    while (verdict != OPENED) {
        const ff_gomoku_frame *frame = &tactics->frames[tactics->depth];
        if (frame->attacks) remember(tactics, frame, verdict);
        if (!tactics->depth) {
            conclude(tactics, verdict);
            return;
        }
        const ff_gomoku_frame *parent = &tactics->frames[--tactics->depth];
        ff_gomoku_take(&tactics->board, side_of(tactics, parent), parent->move[parent->next - 1]);
        verdict = absorb(tactics, tactics->depth, verdict);
    }
}

/* Tries the next move of the frame at work. */
static void advance(ff_gomoku_tactics *tactics) {
    ff_gomoku_frame *frame = &tactics->frames[tactics->depth];
    const int side = side_of(tactics, frame), move = frame->move[frame->next++];
    tactics->nodes++;
    ff_gomoku_place(&tactics->board, side, move);
    const int verdict = open_frame(tactics, tactics->depth + 1, !frame->attacks,
                                   frame->left - frame->attacks, move);
    if (verdict == OPENED) {
        tactics->depth++;
        return;
    }
    ff_gomoku_take(&tactics->board, side, move);
    close_frames(tactics, absorb(tactics, tactics->depth, verdict));
}

static void begin_limit(ff_gomoku_tactics *tactics) {
    tactics->nodes++;
    const int verdict = open_frame(tactics, 0, tactics->attacker_moves, tactics->limit, -1);
    if (verdict == OPENED) tactics->depth = 0;
    else conclude(tactics, verdict);
}

int ff_gomoku_tactics_run(ff_gomoku_tactics *tactics, uint64_t budget) {
    const uint64_t end = tactics->nodes + budget;
    while (tactics->answer == FF_GOMOKU_UNDECIDED) {
        if (tactics->nodes >= end) return FF_GOMOKU_UNFINISHED;
        if (tactics->depth < 0) begin_limit(tactics);
        else advance(tactics);
    }
    return FF_OK;
}

/* ---- questions ---------------------------------------------------------------------- */

int ff_gomoku_tactics_init(ff_gomoku_tactics *tactics, int size, uint64_t *table, int bits) {
    if (bits < FF_GOMOKU_FEWEST_BITS || bits > FF_GOMOKU_MOST_BITS) return FF_NO_ROOM;
    memset(tactics, 0, sizeof *tactics);
    tactics->table = table;
    tactics->bits = bits;
    return ff_gomoku_board_init(&tactics->board, size);
}

static void clear_board(ff_gomoku_board *board) {
    for (int cell = 0; cell < board->cells; cell++)
        if (board->stone[cell]) ff_gomoku_take(board, board->stone[cell] - 1, cell);
}

int ff_gomoku_tactics_begin(ff_gomoku_tactics *tactics, const int8_t *cells, int attacker,
                    int attacker_moves, int threes, int bound) {
    ff_gomoku_board *board = &tactics->board;
    tactics->answer = FF_GOMOKU_NONE; /* nothing to run until a question is taken up */
    clear_board(board);
    if ((unsigned)attacker > 1 || (unsigned)attacker_moves > 1 || (unsigned)threes > 1 || bound < 1)
        return FF_BAD_POSITION;
    for (int cell = 0; cell < board->cells; cell++)
        if (cells[cell] < -1 || cells[cell] > 1) return FF_BAD_POSITION;
    for (int cell = 0; cell < board->cells; cell++)
        if (cells[cell]) ff_gomoku_place(board, cells[cell] < 0, cell);
    if (ff_gomoku_any(board, 0, 5) || ff_gomoku_any(board, 1, 5)) return FF_BAD_POSITION;
    /* Each side fills at most every second of the empty cells, so 181 moves are any number. */
    tactics->bound = bound < 200 ? bound : 200;
    tactics->attacker = attacker;
    tactics->attacker_moves = attacker_moves;
    tactics->threes = threes;
    tactics->limit = 1;
    tactics->best = -1;
    tactics->nodes = 0;
    tactics->depth = -1;
    tactics->answer = FF_GOMOKU_UNDECIDED;
    return FF_OK;
}
