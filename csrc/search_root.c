/* search_root.c -- what happens at the root between two searches: noise, the
 * choice of a move, and advancing to the position after it. */
#include <math.h>
#include <string.h>

#include "random.h"
#include "search.h"

#define NOT_KEPT UINT32_C(0xFFFFFFFF) /* as the parent of a node */

/* ---- a new root ------------------------------------------------------------- */

void ff_search_forget(ff_search_tree *tree) {
    tree->nodes[0] = (ff_search_node){0};
    tree->node_count = 1;
    tree->edge_count = 0;
    tree->root_visits = 0;
    tree->root_mean = 0.0f;
    tree->noised = tree->quiet = 0;
    tree->root_proof = 0;
    tree->leaf = FF_NOTHING_WAITS;
}

/* The root's state has changed, and it is now this ply. */
static void judge_root(const ff_search *search, ff_search_tree *tree, int ply) {
    tree->root_ply = ply;
    tree->sims_left = 0;
    tree->result = search->game->result(search->game, tree->states);
    if (tree->result == FF_GOING_ON && ply >= search->options.max_plies) tree->result = FF_DRAWN;
}

void ff_search_reset(ff_search *search, uint32_t index, const uint8_t *state, int ply,
                     const uint64_t *seed) {
    ff_search_tree *tree = &search->tree[index];
    if (seed) tree->random = ff_random_seeded(*seed);
    memcpy(tree->states, state, (size_t)search->game->state_bytes);
    tree->forgotten = 0;
    for (int side = 0; side < 2; side++)
        tree->walked[side] = tree->open[side] = tree->starved[side] = 0;
    tree->spared = 0;
    ff_search_forget(tree);
    judge_root(search, tree, ply);
}

/* ---- noise ------------------------------------------------------------------ */

double ff_noise_share(const ff_search_options *options, int ply) {
    if (options->noise_steps <= 0) return options->noise_eps;
    double left = fmax(0.0, 1.0 - (double)ply / options->noise_steps);
    return options->noise_eps_min + (options->noise_eps - options->noise_eps_min) * left;
}

void ff_search_add_noise(const ff_search *search, ff_search_tree *tree) {
    const double share = ff_noise_share(&search->options, tree->root_ply);
    if (share <= 0.0 || tree->quiet) return;
    ff_search_node *root = &tree->nodes[0];
    double noise[FF_MAX_ACTIONS], highest = -INFINITY, sum = 0.0;
    for (int i = 0; i < root->edges; i++) {
        noise[i] = ff_random_log_gamma(&tree->random, search->options.dirichlet_alpha);
        highest = fmax(highest, noise[i]);
    }
    for (int i = 0; i < root->edges; i++) sum += noise[i] = exp(noise[i] - highest);
    float *prior = tree->prior + root->first_edge;
    memcpy(tree->clean, prior, root->edges * sizeof *prior);
    root->seen = 0.0f;
    for (int i = 0; i < root->edges; i++) {
        prior[i] = (float)((1.0 - share) * prior[i] + share * noise[i] / sum);
        /* A move that is proven to lose was tried, though its visits are gone. */
        if (tree->visits[root->first_edge + i] || tree->proof[root->first_edge + i])
            root->seen += prior[i];
    }
    tree->noised = 1;
}

/* ---- advancing --------------------------------------------------------------- */

static void copy_edges(ff_search_tree *tree, uint32_t from, uint32_t to, uint32_t count) {
    memmove(tree->prior + to, tree->prior + from, count * sizeof *tree->prior);
    memmove(tree->mean + to, tree->mean + from, count * sizeof *tree->mean);
    memmove(tree->visits + to, tree->visits + from, count * sizeof *tree->visits);
    memmove(tree->child + to, tree->child + from, count * sizeof *tree->child);
    memmove(tree->action + to, tree->action + from, count * sizeof *tree->action);
    memmove(tree->proof + to, tree->proof + from, count * sizeof *tree->proof);
}

/* Moves the node, its state and its edges down to `to`, and updates its parent's
 * edge, which has moved already. */
static void move_node(ff_search_tree *tree, uint32_t from, uint32_t to, size_t state_bytes) {
    ff_search_node *node = &tree->nodes[to];
    *node = tree->nodes[from];
    memmove(tree->states + to * state_bytes, tree->states + from * state_bytes, state_bytes);
    if (to > 0) tree->child[node->parent_edge] = to;
    uint32_t room = (node->edges + FF_EDGE_LANES - 1u) / FF_EDGE_LANES * FF_EDGE_LANES;
    copy_edges(tree, node->first_edge, tree->edge_count, room);
    node->first_edge = tree->edge_count;
    tree->edge_count += room;
}

/* Makes `top` the root and closes the gaps.  Nodes and edges were added in the
 * same order, a parent before its children, so moving them down in that order
 * overwrites nothing that is still to move.  When a parent moves, it rewrites parent
 * and parent_edge of its children; nodes that are never rewritten are not below
 * `top`. */
static void keep_subtree(ff_search_tree *tree, uint32_t top, size_t state_bytes) {
    const uint32_t node_count = tree->node_count;
    for (uint32_t i = top; i < node_count; i++) tree->nodes[i].parent = NOT_KEPT;
    tree->nodes[top].parent = 0;
    tree->node_count = tree->edge_count = 0;
    for (uint32_t i = top; i < node_count; i++) {
        if (tree->nodes[i].parent == NOT_KEPT) continue;
        const uint32_t place = tree->node_count++;
        move_node(tree, i, place, state_bytes);
        const ff_search_node *node = &tree->nodes[place];
        for (uint32_t edge = node->first_edge; edge < node->first_edge + node->edges; edge++) {
            uint32_t child = tree->child[edge];
            if (child == FF_NO_CHILD || child == FF_GAME_ENDS) continue;
            tree->nodes[child].parent = place;
            tree->nodes[child].parent_edge = edge;
        }
    }
    tree->noised = 0;
}

/* The root's edge with this action, or -1. */
static int64_t root_edge(const ff_search_tree *tree, int action) {
    const ff_search_node *root = &tree->nodes[0];
    for (uint32_t edge = root->first_edge; edge < root->first_edge + root->edges; edge++)
        if (tree->action[edge] == action) return edge;
    return -1;
}

int ff_search_advance(ff_search *search, uint32_t index, int action) {
    ff_search_tree *tree = &search->tree[index];
    const ff_game *game = search->game;
    if (tree->leaf != FF_NOTHING_WAITS) return FF_BAD_ORDER;
    if (tree->result != FF_GOING_ON || !ff_is_legal(game, tree->states, action))
        return FF_BAD_ACTION;
    const int64_t edge = root_edge(tree, action);
    const uint32_t child = edge < 0 ? FF_NO_CHILD : tree->child[edge];
    if (search->options.reuse && child != FF_NO_CHILD && child != FF_GAME_ENDS) {
        tree->root_visits = tree->visits[edge];
        tree->root_mean = -tree->mean[edge];
        keep_subtree(tree, child, (size_t)game->state_bytes);
        tree->root_proof = ff_search_proof_of(tree, 0);
        if (tree->root_visits == 0) tree->root_visits = 1; /* the move was lost: its evaluation */
    } else {
        game->play(game, tree->states, action);
        ff_search_forget(tree);
    }
    judge_root(search, tree, tree->root_ply + 1);
    return FF_OK;
}

/* ---- what the visits say ---------------------------------------------------- */

void ff_search_roots(const ff_search *search, uint32_t *visits, float *priors, float *means) {
    const size_t actions = (size_t)search->game->actions, all = search->trees * actions;
    if (visits) memset(visits, 0, all * sizeof *visits);
    if (priors) memset(priors, 0, all * sizeof *priors);
    if (means) memset(means, 0, all * sizeof *means);
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        const ff_search_node *root = &tree->nodes[0];
        for (uint32_t edge = root->first_edge; edge < root->first_edge + root->edges; edge++) {
            const size_t place = i * actions + tree->action[edge];
            if (visits) visits[place] = tree->visits[edge];
            if (priors) priors[place] = tree->prior[edge];
            if (means) means[place] = tree->mean[edge];
        }
    }
}

void ff_search_clean_priors(const ff_search *search, float *priors) {
    const size_t actions = (size_t)search->game->actions;
    memset(priors, 0, search->trees * actions * sizeof *priors);
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        const uint32_t first = tree->nodes[0].first_edge;
        const float *clean = tree->noised ? tree->clean : tree->prior + first;
        for (uint32_t edge = 0; edge < tree->nodes[0].edges; edge++)
            priors[i * actions + tree->action[first + edge]] = clean[edge];
    }
}

float ff_search_edge_outcome(const ff_search_tree *tree, uint32_t edge) {
    const uint32_t child = tree->child[edge];
    return child == FF_NO_CHILD || child == FF_GAME_ENDS ? tree->mean[edge]
                                                         : -tree->nodes[child].outcome;
}

void ff_search_outcomes(const ff_search *search, float *outcomes) {
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        const int halved = search->options.gumbel && tree->root_visits > 1 && !tree->root_proof;
        outcomes[i] = halved ? ff_search_gumbel_outcome(tree) : tree->nodes[0].outcome;
    }
}

/* Takes away the visits that were forced. */
static void prune(const ff_search *search, const ff_search_tree *tree, double *target) {
    const uint32_t first = tree->nodes[0].first_edge, edges = tree->nodes[0].edges;
    const uint32_t *visits = tree->visits + first;
    const float *prior = tree->prior + first, *mean = tree->mean + first;
    uint32_t best = 0;
    for (uint32_t i = 1; i < edges; i++)
        if (visits[i] > visits[best]) best = i;
    const float exploration = ff_search_exploration(search, tree->root_visits);
    const float highest =
        mean[best] + exploration * prior[best] / (1.0f + (float)(int32_t)visits[best]);
    for (uint32_t i = 0; i < edges; i++) {
        uint32_t left = visits[i], forced = (uint32_t)ff_search_forced(search, tree, first + i);
        if (i == best) continue;
        for (; left > 0 && forced > 0; left--, forced--) /* with one visit less: 1 + left - 1 */
            if (mean[i] + exploration * prior[i] / (float)(int32_t)left >= highest) break;
        target[i] = left > 1 ? left : 0.0;
    }
}

/* What the root's edges are chosen and learned by: as a rule their visits. */
static void root_targets(const ff_search *search, const ff_search_tree *tree, double *target) {
    const ff_search_node *root = &tree->nodes[0];
    const uint16_t *proof = tree->proof + root->first_edge;
    const int result = tree->root_proof & FF_PROOF_RESULT;
    double sum = 0.0;
    int lost = 0;
    for (int i = 0; i < root->edges; i++) {
        target[i] = tree->visits[root->first_edge + (uint32_t)i];
        /* The root's proof is that of its best moves. */
        if (result == FF_WON || result == FF_LOST) target[i] = proof[i] == tree->root_proof;
        sum += target[i];
        lost += (proof[i] & FF_PROOF_RESULT) == FF_LOST;
    }
    if (search->options.gumbel && tree->root_visits > 1 && result != FF_WON && result != FF_LOST) {
        ff_search_improved_policy(tree, target);
        return;
    }
    if (sum > 0.0 && tree->noised && search->options.forced_playouts > 0.0f &&
        result != FF_WON && result != FF_LOST)
        prune(search, tree, target);
    if (sum > 0.0 || !lost) return;
    /* All that was tried is lost.  Even a prior of 0 is better. */
    for (int i = 0; i < root->edges; i++)
        if ((proof[i] & FF_PROOF_RESULT) != FF_LOST)
            target[i] = tree->prior[root->first_edge + (uint32_t)i] + 1e-30;
}

void ff_search_targets(const ff_search *search, float *targets) {
    const size_t actions = (size_t)search->game->actions;
    memset(targets, 0, search->trees * actions * sizeof *targets);
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        const uint16_t *action = tree->action + tree->nodes[0].first_edge;
        double target[FF_MAX_ACTIONS];
        root_targets(search, tree, target);
        for (int edge = 0; edge < tree->nodes[0].edges; edge++)
            targets[i * actions + action[edge]] = (float)target[edge];
    }
}

/* The move with the highest lower bound, among those with enough visits. */
static int surest(const ff_search *search, const ff_search_tree *tree, int most_visited) {
    const ff_search_node *root = &tree->nodes[0];
    const uint32_t *visits = tree->visits + root->first_edge;
    const double least = 0.15 * visits[most_visited];
    int best = most_visited;
    double highest = -INFINITY;
    for (int i = 0; i < root->edges; i++) {
        const double count = visits[i];
        if (count < least || count == 0.0) continue;
        const uint32_t edge = root->first_edge + (uint32_t)i, child = tree->child[edge];
        const double mean = tree->mean[edge];
        double spread = 0.0; /* of a move that ends the game, or is proven */
        if (child != FF_GAME_ENDS)
            spread = fmax(0.0, count * (tree->nodes[child].square - mean * mean));
        const double variance = (1.0 + spread) / count;
        const double bound = mean - search->options.lcb * sqrt(variance / count);
        if (bound > highest) {
            highest = bound;
            best = i;
        }
    }
    return best;
}

/* Weights of the root's edges, the largest of them 1; returns their sum, 0 if
 * there are no visits. */
static double weigh_targets(const ff_search *search, const ff_search_tree *tree,
                            float temperature, double *weight) {
    const int edges = tree->nodes[0].edges;
    double target[FF_MAX_ACTIONS];
    root_targets(search, tree, target);
    int best = 0;
    for (int i = 1; i < edges; i++)
        if (target[i] > target[best]) best = i;
    if (edges == 0 || target[best] == 0.0) return 0.0;
    const int result = tree->root_proof & FF_PROOF_RESULT;
    if (temperature == 0.0f && search->options.lcb > 0.0f && result != FF_WON &&
        result != FF_LOST && tree->visits[tree->nodes[0].first_edge + (uint32_t)best])
        best = surest(search, tree, best);
    double sum = 0.0;
    for (int i = 0; i < edges; i++) {
        if (temperature == 0.0f) weight[i] = i == best;
        else if (target[i] == 0.0) weight[i] = 0.0;
        else weight[i] = exp((log(target[i]) - log(target[best])) / temperature);
        sum += weight[i];
    }
    return sum;
}

void ff_search_policies(const ff_search *search, const float *temperature, float *policy) {
    const size_t actions = (size_t)search->game->actions;
    memset(policy, 0, search->trees * actions * sizeof *policy);
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        const uint16_t *action = tree->action + tree->nodes[0].first_edge;
        double weight[FF_MAX_ACTIONS], sum = weigh_targets(search, tree, temperature[i], weight);
        for (int edge = 0; sum > 0.0 && edge < tree->nodes[0].edges; edge++)
            policy[i * actions + action[edge]] = (float)(weight[edge] / sum);
    }
}

void ff_search_choose(ff_search *search, const float *temperature, int32_t *actions) {
    for (uint32_t i = 0; i < search->trees; i++) {
        ff_search_tree *tree = &search->tree[i];
        const ff_search_node *root = &tree->nodes[0];
        double weight[FF_MAX_ACTIONS], left = weigh_targets(search, tree, temperature[i], weight);
        actions[i] = -1;
        if (left <= 0.0) continue;
        const int drawn_from_target = tree->quiet && temperature[i] > 0.0f;
        if (search->options.gumbel && !drawn_from_target &&
            (tree->root_proof & FF_PROOF_RESULT) != FF_WON &&
            (tree->root_proof & FF_PROOF_RESULT) != FF_LOST) {
            actions[i] = ff_search_gumbel_action(tree, temperature[i] > 0.0f);
            continue;
        }
        if (temperature[i] > 0.0f) left *= ff_random_unit(&tree->random);
        for (int edge = 0; edge < root->edges; edge++) {
            if (weight[edge] == 0.0) continue;
            actions[i] = tree->action[root->first_edge + (uint32_t)edge];
            left -= weight[edge];
            if (left < 0.0) break; /* rounding may leave a little: then the last one */
        }
    }
}
