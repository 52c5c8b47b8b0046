/* search_proof.c -- results that a tree proves, and what they change in it. */
#include <math.h>

#include "search.h"

static float value_of(int proof) {
    const int result = proof & FF_PROOF_RESULT;
    return result == FF_WON ? 1.0f : result == FF_LOST ? -1.0f : 0.0f;
}

/* The proof of the move that leads to a node with this proof. */
static int of_move_to(int proof) {
    static const int opposite[] = {0, FF_LOST, FF_DRAW, FF_WON};
    int plies = (proof >> 2) + 1;
    if (plies > FF_MOST_PROOF_PLIES) plies = FF_MOST_PROOF_PLIES;
    return plies << 2 | opposite[proof & FF_PROOF_RESULT];
}

int ff_search_proof_of(const ff_search_tree *tree, uint32_t node) {
    const uint16_t *proof = tree->proof + tree->nodes[node].first_edge;
    int fewest_to_win = 0, longest_draw = 0, longest_defence = 0, unproven = 0;
    for (int i = 0; i < tree->nodes[node].edges; i++) {
        const int result = proof[i] & FF_PROOF_RESULT;
        if (!result) unproven = 1;
        else if (result == FF_WON && (!fewest_to_win || proof[i] < fewest_to_win))
            fewest_to_win = proof[i];
        else if (result == FF_DRAW && proof[i] > longest_draw) longest_draw = proof[i];
        else if (result == FF_LOST && proof[i] > longest_defence) longest_defence = proof[i];
    }
    if (fewest_to_win) return fewest_to_win;
    if (unproven) return 0;
    return longest_draw ? longest_draw : longest_defence;
}

/* What an edge adds to the sums of the node above it: of values, of their squares and of
 * outcomes, for the player who moves along it. */
typedef struct {
    double values, squares, outcomes;
} sums;

static sums sums_of(const ff_search_tree *tree, uint32_t edge) {
    const double visits = tree->visits[edge], mean = tree->mean[edge];
    if (tree->child[edge] == FF_GAME_ENDS)
        return (sums){mean * visits, mean * mean * visits, mean * visits};
    const ff_search_node *below = &tree->nodes[tree->child[edge]];
    return (sums){mean * visits, below->square * visits, -(double)below->outcome * visits};
}

/* A mean of this many visits, when their sum changes by this much. */
static float changed(float mean, uint32_t visits, double change) {
    const double right = mean + change / visits;
    return (float)(right > 1.0 ? 1.0 : right < -1.0 ? -1.0 : right);
}

/* The sums of this node, and so of all above it, change; for the side to move at the node. */
static void change_above(ff_search_tree *tree, uint32_t node, sums change) {
    for (;;) {
        ff_search_node *here = &tree->nodes[node];
        const uint32_t edge = here->parent_edge;
        const uint32_t visits = node ? tree->visits[edge] : tree->root_visits;
        here->square = fmaxf(0.0f, changed(here->square, visits, change.squares));
        here->outcome = changed(here->outcome, visits, change.outcomes);
        if (node == 0) {
            tree->root_mean = changed(tree->root_mean, visits, change.values);
            return;
        }
        change.values = -change.values;
        change.outcomes = -change.outcomes;
        tree->mean[edge] = changed(tree->mean[edge], visits, change.values);
        node = here->parent;
    }
}

/* This edge counts as its proof says, and so does the node below it; returns what that
 * changes above. */
static sums settle_edge(ff_search_tree *tree, uint32_t edge, int proof) {
    const float value = value_of(proof);
    const double visits = tree->visits[edge];
    const sums before = sums_of(tree, edge);
    tree->proof[edge] = (uint16_t)proof;
    tree->mean[edge] = value;
    if ((proof & FF_PROOF_RESULT) == FF_LOST) tree->visits[edge] = 0;
    if (tree->child[edge] != FF_GAME_ENDS) {
        tree->nodes[tree->child[edge]].outcome = -value;
        tree->nodes[tree->child[edge]].square = value * value;
    }
    return (sums){value * visits - before.values, value * value * visits - before.squares,
                  value * visits - before.outcomes};
}

void ff_search_settle_root(ff_search_tree *tree, int proof) {
    tree->root_proof = proof;
    tree->root_mean = tree->nodes[0].outcome = value_of(proof);
    tree->spared += tree->sims_left;
    tree->sims_left = 0;
}

void ff_search_prove(ff_search_tree *tree, uint32_t node, uint32_t edge, int proof) {
    for (;;) {
        const sums change = settle_edge(tree, edge, proof);
        const int of_node = ff_search_proof_of(tree, node);
        if (!of_node) { /* so the move is lost or drawn */
            change_above(tree, node, change);
            return;
        }
        if (node == 0) {
            ff_search_settle_root(tree, of_node);
            return;
        }
        proof = of_move_to(of_node);
        edge = tree->nodes[node].parent_edge;
        node = tree->nodes[node].parent;
    }
}

void ff_search_proofs(const ff_search *search, uint16_t *proofs) {
    const size_t actions = (size_t)search->game->actions;
    for (size_t i = 0; i < search->trees * actions; i++) proofs[i] = 0;
    for (uint32_t i = 0; i < search->trees; i++) {
        const ff_search_tree *tree = &search->tree[i];
        const ff_search_node *root = &tree->nodes[0];
        for (uint32_t edge = root->first_edge; edge < root->first_edge + root->edges; edge++)
            proofs[i * actions + tree->action[edge]] = tree->proof[edge];
    }
}
