#include "search.h"

#include <math.h>
#include <string.h>

/* ---- the choice of an edge ------------------------------------------------- */

static float exploration_at(const ff_search_options *options, double visits) {
    double c = options->c_init + log((visits + options->c_base + 1.0) / options->c_base);
    return (float)(c * sqrt(visits));
}

float ff_search_exploration(const ff_search *search, uint32_t visits) {
    return visits < FF_EXPLORATION_KNOWN ? search->exploration[visits]
                                         : exploration_at(&search->options, visits);
}

float ff_search_forced(const ff_search *search, const ff_search_tree *tree, uint32_t edge) {
    if (!tree->noised || search->options.forced_playouts <= 0.0f) return 0.0f;
    return sqrtf(search->options.forced_playouts * tree->prior[edge] *
                 (float)(int32_t)(tree->root_visits - 1));
}

/* FPU without the clamp. */
static float untried_value(const ff_search_options *options, const ff_search_tree *tree,
                           const ff_search_node *node, float value) {
    float reduction = options->fpu_reduction;
    if (node == tree->nodes && tree->noised && !options->fpu_at_noised_root) reduction = 0.0f;
    if (options->fpu_dynamic) reduction *= (value + 1.0f) * 0.5f;
    return value - reduction * sqrtf(node->seen);
}

/* The edge to take from this node, which has these visits and this mean. */
static uint32_t best_edge(const ff_search *search, ff_search_tree *tree,
                          const ff_search_node *node, uint32_t node_visits, float value,
                          int side) {
    float untried = 0.0f;
    tree->walked[side]++;
    if (node->tried < node->edges) {
        untried = untried_value(&search->options, tree, node, value);
        tree->open[side]++;
        tree->starved[side] += untried < -1.0f;
        if (search->options.fpu_clamp && untried < -1.0f) untried = -1.0f;
    }
    const float exploration = ff_search_exploration(search, node_visits);
    const float *prior = tree->prior + node->first_edge;
    const float *mean = tree->mean + node->first_edge;
    const uint32_t *visits = tree->visits + node->first_edge;
    float score[FF_MAX_ACTIONS + FF_EDGE_LANES];
    for (int first = 0; first < node->edges; first += FF_EDGE_LANES)
        for (int i = first; i < first + FF_EDGE_LANES; i++) {
            float q = visits[i] ? mean[i] : untried;
            score[i] = q + exploration * prior[i] / (1.0f + (float)(int32_t)visits[i]);
        }
    if (node == tree->nodes && tree->noised && search->options.forced_playouts > 0.0f)
        for (int i = 0; i < node->edges; i++)
            if (visits[i] && (float)(int32_t)visits[i] <
                                 ff_search_forced(search, tree, node->first_edge + (uint32_t)i))
                score[i] = INFINITY;
    if (search->options.prove) {
        const uint16_t *proof = tree->proof + node->first_edge;
        for (int i = 0; i < node->edges; i++)
            if ((proof[i] & FF_PROOF_RESULT) == FF_LOST) score[i] = -INFINITY;
    }
    int best = 0;
    for (int i = 1; i < node->edges; i++)
        if (score[i] > score[best]) best = i;
    return node->first_edge + (uint32_t)best;
}

/* ---- walking, and backing up ----------------------------------------------- */

static void add_to(float *mean, uint32_t visits, float value) {
    *mean += (value - *mean) / (float)visits;
}

/* One more visit of a node, which is its nth. */
static void count_visit(ff_search_node *node, uint32_t n, float value, float outcome) {
    add_to(&node->outcome, n, outcome);
    add_to(&node->square, n, value * value);
}

/* A value and an outcome for the player who moves along this edge of this node; below: the
 * node it leads to, FF_GAME_ENDS if there is none. */
static void back_up(ff_search_tree *tree, uint32_t node, uint32_t edge, uint32_t below,
                    float value, float outcome) {
    for (;;) {
        if (tree->visits[edge]++ == 0) {
            tree->nodes[node].tried++;
            tree->nodes[node].seen += tree->prior[edge];
        }
        const uint32_t visits = tree->visits[edge];
        add_to(&tree->mean[edge], visits, value);
        if (below != FF_GAME_ENDS) count_visit(&tree->nodes[below], visits, value, -outcome);
        if (node == 0) break;
        below = node;
        edge = tree->nodes[node].parent_edge;
        node = tree->nodes[node].parent;
        value = -value;
        outcome = -outcome;
    }
    tree->root_visits++;
    add_to(&tree->root_mean, tree->root_visits, value);
    count_visit(&tree->nodes[0], tree->root_visits, value, outcome);
}

/* The first walk along this edge: does it lead to a leaf to evaluate? */
static int open_edge(const ff_search *search, ff_search_tree *tree, uint32_t node, uint32_t edge,
                     int ply) {
    const ff_game *game = search->game;
    const size_t bytes = (size_t)game->state_bytes;
    uint8_t *state = tree->states + tree->node_count * bytes;
    memcpy(state, tree->states + node * bytes, bytes);
    const int by_rules = game->play(game, state, tree->action[edge]);
    int result = by_rules;
    if (result == FF_GOING_ON && ply >= search->options.max_plies) result = FF_DRAWN;
    if (result != FF_GOING_ON) {
        tree->child[edge] = FF_GAME_ENDS;
        const float value = result == FF_MOVER_WON ? 1.0f : 0.0f;
        back_up(tree, node, edge, FF_GAME_ENDS, value, value);
        if (search->options.prove && by_rules != FF_GOING_ON)
            ff_search_prove(tree, node, edge,
                            1 << 2 | (by_rules == FF_MOVER_WON ? FF_WON : FF_DRAW));
        return 0;
    }
    tree->child[edge] = tree->leaf = tree->node_count++;
    tree->nodes[tree->leaf] = (ff_search_node){.parent = node, .parent_edge = edge};
    return 1;
}

/* One walk from the root: 1 if a leaf now waits for its evaluation, 0 if the
 * walk came to the end of a game, or to a result that is proven. */
static int walk(const ff_search *search, ff_search_tree *tree) {
    uint32_t node = 0, visits = tree->root_visits;
    float value = tree->root_mean;
    int side = search->game->to_move(search->game, tree->states);
    for (int ply = tree->root_ply + 1;; ply++, side = !side) {
        uint32_t edge = node == 0 && search->options.gumbel
                            ? ff_search_halving_edge(tree)
                            : best_edge(search, tree, &tree->nodes[node], visits, value, side);
        uint32_t child = tree->child[edge];
        if (child == FF_NO_CHILD) return open_edge(search, tree, node, edge, ply);
        if (child == FF_GAME_ENDS || tree->proof[edge]) {
            back_up(tree, node, edge, child, tree->mean[edge], tree->mean[edge]);
            return 0;
        }
        visits = tree->visits[edge];
        value = -tree->mean[edge];
        node = child;
    }
}

/* Walks until a leaf waits (1) or no simulation is left (0). */
static int walk_to_leaf(const ff_search *search, ff_search_tree *tree) {
    if (tree->result != FF_GOING_ON || tree->sims_left == 0) return 0;
    if (tree->nodes[0].edges == 0) {
        tree->leaf = 0;
        return 1;
    }
    while (tree->sims_left > 0) {
        tree->sims_left--;
        if (walk(search, tree)) return 1;
    }
    return 0;
}

/* ---- evaluations ------------------------------------------------------------ */

/* The edges of the waiting leaf, their priors not set. */
static uint32_t add_edges(const ff_search *search, ff_search_tree *tree) {
    ff_search_node *leaf = &tree->nodes[tree->leaf];
    const uint8_t *state = tree->states + tree->leaf * (size_t)search->game->state_bytes;
    const uint32_t first = tree->edge_count;
    uint32_t edges = (uint32_t)search->game->legal(search->game, state, tree->action + first);
    uint32_t room = (edges + FF_EDGE_LANES - 1) / FF_EDGE_LANES * FF_EDGE_LANES;
    memset(tree->mean + first, 0, room * sizeof *tree->mean);
    memset(tree->visits + first, 0, room * sizeof *tree->visits);
    memset(tree->child + first, 0, room * sizeof *tree->child);
    memset(tree->proof + first, 0, room * sizeof *tree->proof);
    memset(tree->prior + first + edges, 0, (room - edges) * sizeof *tree->prior);
    leaf->first_edge = first;
    leaf->edges = (uint16_t)edges;
    tree->edge_count += room;
    return first;
}

/* The leaf has its edges: back its value up; a new root gets its noise. */
static void settle_leaf(const ff_search *search, ff_search_tree *tree, float value,
                        float outcome) {
    const uint32_t leaf = tree->leaf;
    tree->leaf = FF_NOTHING_WAITS;
    if (leaf == 0) {
        tree->root_visits = 1;
        tree->root_mean = tree->root_value = value;
        tree->root_outcome = tree->nodes[0].outcome = outcome;
        tree->nodes[0].square = value * value;
        if (search->options.gumbel) ff_search_begin_halving(search, tree);
        else ff_search_add_noise(search, tree);
    } else {
        back_up(tree, tree->nodes[leaf].parent, tree->nodes[leaf].parent_edge, leaf, -value,
                -outcome);
    }
}

/* Turns the policy of a leaf's legal moves into priors that sum to 1. */
static void set_priors(ff_search_tree *tree, const float *policy, int logits) {
    const ff_search_node *leaf = &tree->nodes[tree->leaf];
    float *prior = tree->prior + leaf->first_edge;
    const uint16_t *action = tree->action + leaf->first_edge;
    float highest = -INFINITY, sum = 0.0f;
    for (int i = 0; i < leaf->edges; i++) prior[i] = policy[action[i]];
    if (logits) {
        for (int i = 0; i < leaf->edges; i++) highest = fmaxf(highest, prior[i]);
        for (int i = 0; i < leaf->edges; i++) prior[i] = expf(prior[i] - highest);
    }
    for (int i = 0; i < leaf->edges; i++) sum += prior[i];
    for (int i = 0; i < leaf->edges; i++) prior[i] /= sum;
}

/* Rounding in a network may exceed -1 .. 1 by this much; values are clipped, or they
 * would beat a proven result. */
static const float ROUNDING = 1e-3f;

static float leaf_value(const ff_search_options *options, float value, const float *steps) {
    if (steps) {
        const float lambda = options->lambda_steps;
        const float sign = (float)((value > 0.0f) - (value < 0.0f));
        value = (1.0f - lambda) * value -
                lambda * sign * (2.0f * *steps / options->max_steps - 1.0f);
    }
    return fminf(1.0f, fmaxf(-1.0f, value));
}

/* Can the legal moves of this leaf be given priors? */
static int is_usable_policy(const ff_search *search, const ff_search_tree *tree,
                            const float *policy, int logits) {
    const ff_game *game = search->game;
    uint16_t action[FF_MAX_ACTIONS];
    int edges = game->legal(game, tree->states + tree->leaf * (size_t)game->state_bytes, action);
    float sum = 0.0f;
    for (int i = 0; i < edges; i++) {
        float weight = policy[action[i]];
        if (!isfinite(weight) || (!logits && weight < 0.0f)) return 0;
        sum += weight;
    }
    return logits || (sum > 0.0f && isfinite(sum));
}

static int check_evaluations(const ff_search *search, int rows, const float *policy, int logits,
                             const float *value, const float *steps) {
    int row = 0;
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        if (tree->leaf == FF_NOTHING_WAITS) continue;
        if (row == rows) return FF_BAD_ORDER;
        if (!(fabsf(value[row]) <= 1.0f + ROUNDING)) return FF_BAD_EVALUATION;
        if (steps && !(steps[row] >= -ROUNDING &&
                       steps[row] <= search->options.max_steps + ROUNDING))
            return FF_BAD_EVALUATION;
        const float *of_row = policy + (size_t)row * (size_t)search->game->actions;
        if (!is_usable_policy(search, tree, of_row, logits)) return FF_BAD_EVALUATION;
        row++;
    }
    return row == rows ? FF_OK : FF_BAD_ORDER;
}

/* ---- the batch -------------------------------------------------------------- */

/* Room for a node is room for its edges: there are edges_per_node for each. */
int ff_search_begin(ff_search *search, const uint32_t *sims, const uint8_t *quiet) {
    for (uint32_t i = 0; i < search->trees; i++) {
        if ((uint64_t)sims[i] + 1 > search->node_capacity) return FF_NO_ROOM;
        if (search->tree[i].leaf != FF_NOTHING_WAITS) return FF_BAD_ORDER;
    }
    for (uint32_t i = 0; i < search->trees; i++) {
        ff_search_tree *tree = &search->tree[i];
        if (tree->result != FF_GOING_ON) continue;
        if (search->options.gumbel) ff_search_forget(tree);
        if ((uint64_t)tree->node_count + sims[i] > search->node_capacity) {
            ff_search_forget(tree);
            tree->forgotten++;
        }
        tree->sims_left = sims[i];
        tree->quiet = quiet[i];
        if (tree->root_proof) ff_search_settle_root(tree, tree->root_proof);
        else if (tree->nodes[0].edges && !tree->noised) ff_search_add_noise(search, tree);
    }
    return FF_OK;
}

int ff_search_select(ff_search *search, float *planes, int32_t *leaf_trees) {
    const ff_game *game = search->game;
    for (uint32_t i = 0; i < search->trees; i++)
        if (search->tree[i].leaf != FF_NOTHING_WAITS) return FF_BAD_ORDER;
    int rows = 0;
    for (uint32_t i = 0; i < search->trees; i++) {
        ff_search_tree *tree = &search->tree[i];
        if (!walk_to_leaf(search, tree)) continue;
        game->fill_planes(game, tree->states + tree->leaf * (size_t)game->state_bytes,
                          planes + (size_t)rows * ff_plane_floats(game));
        leaf_trees[rows++] = (int32_t)i;
    }
    return rows;
}

int ff_search_expand(ff_search *search, int rows, const float *policy, int logits,
                     const float *value, const float *steps) {
    int failed = check_evaluations(search, rows, policy, logits, value, steps);
    if (failed) return failed;
    int row = 0;
    for (uint32_t i = 0; i < search->trees; i++) {
        ff_search_tree *tree = &search->tree[i];
        if (tree->leaf == FF_NOTHING_WAITS) continue;
        add_edges(search, tree);
        set_priors(tree, policy + (size_t)row * (size_t)search->game->actions, logits);
        settle_leaf(search, tree,
                    leaf_value(&search->options, value[row], steps ? steps + row : NULL),
                    leaf_value(&search->options, value[row], NULL));
        row++;
    }
    return FF_OK;
}

int ff_search_run_constant(ff_search *search, float value) {
    for (uint32_t i = 0; i < search->trees; i++) {
        ff_search_tree *tree = &search->tree[i];
        if (tree->leaf != FF_NOTHING_WAITS) return FF_BAD_ORDER;
        while (walk_to_leaf(search, tree)) {
            uint32_t first = add_edges(search, tree), edges = tree->nodes[tree->leaf].edges;
            for (uint32_t edge = 0; edge < edges; edge++)
                tree->prior[first + edge] = 1.0f / (float)edges;
            settle_leaf(search, tree, value, value);
        }
    }
    return FF_OK;
}

/* ---- memory ----------------------------------------------------------------- */

static uint64_t lanes(uint64_t count) {
    return (count + FF_EDGE_LANES - 1) / FF_EDGE_LANES * FF_EDGE_LANES;
}

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t tree_bytes(const ff_game *game, size_t nodes, size_t edges) {
    return aligned(nodes * sizeof(ff_search_node)) + aligned(nodes * (size_t)game->state_bytes) +
           2 * aligned(edges * sizeof(float)) + 2 * aligned(edges * sizeof(uint32_t)) +
           2 * aligned(edges * sizeof(uint16_t));
}

/* One more state than nodes: open_edge plays there before it knows the result. */
size_t ff_search_bytes(const ff_game *game, uint32_t trees, uint32_t node_capacity) {
    uint64_t edges = node_capacity * lanes((uint64_t)game->actions);
    if (edges > UINT32_MAX) return 0;
    return aligned(trees * sizeof(ff_search_tree)) +
           trees * tree_bytes(game, (size_t)node_capacity + 1, (size_t)edges);
}

static void *carve(uint8_t **memory, size_t bytes) {
    void *part = *memory;
    *memory += aligned(bytes);
    return part;
}

int ff_search_init(ff_search *search, const ff_game *game, const ff_search_options *options,
                   uint32_t trees, uint32_t node_capacity, uint64_t seed, void *memory) {
    memset(search, 0, sizeof *search);
    if (trees == 0 || node_capacity == 0 || !ff_search_bytes(game, trees, node_capacity))
        return FF_NO_ROOM;
    if (game->actions > FF_MAX_ACTIONS || !(options->c_base > 0.0) || options->max_plies < 1 ||
        !(options->max_steps > 0.0f) || options->gumbel < 0 || !(options->dirichlet_alpha > 0.0f))
        return FF_BAD_OPTIONS;
    search->game = game;
    search->options = *options;
    for (int visits = 0; visits < FF_EXPLORATION_KNOWN; visits++)
        search->exploration[visits] = exploration_at(options, visits);
    search->trees = trees;
    search->node_capacity = node_capacity;
    search->edges_per_node = (uint32_t)lanes((uint64_t)game->actions);
    search->edge_capacity = node_capacity * search->edges_per_node;
    uint8_t *rest = memory, start[FF_MAX_STATE_BYTES] = {0};
    const size_t nodes = (size_t)node_capacity + 1, edges = search->edge_capacity;
    search->tree = carve(&rest, trees * sizeof *search->tree);
    game->start(game, start);
    for (uint32_t i = 0; i < trees; i++) {
        ff_search_tree *tree = &search->tree[i];
        memset(tree, 0, sizeof *tree);
        tree->nodes = carve(&rest, nodes * sizeof *tree->nodes);
        tree->states = carve(&rest, nodes * (size_t)game->state_bytes);
        tree->prior = carve(&rest, edges * sizeof *tree->prior);
        tree->mean = carve(&rest, edges * sizeof *tree->mean);
        tree->visits = carve(&rest, edges * sizeof *tree->visits);
        tree->child = carve(&rest, edges * sizeof *tree->child);
        tree->action = carve(&rest, edges * sizeof *tree->action);
        tree->proof = carve(&rest, edges * sizeof *tree->proof);
        uint64_t tree_seed = seed + i;
        ff_search_reset(search, i, start, 0, &tree_seed);
    }
    return FF_OK;
}
