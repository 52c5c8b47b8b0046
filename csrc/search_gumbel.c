/* search_gumbel.c -- the root of a Gumbel search: sequential halving and its targets. */
#include <math.h>

#include "random.h"
#include "search.h"

static const double VISITS_BEFORE = 50.0, VALUE_SCALE = 0.1;

static int is_lost(const ff_search_tree *tree, uint32_t edge) {
    return (tree->proof[edge] & FF_PROOF_RESULT) == FF_LOST;
}

/* Simulations at this number of candidates, in rounds of one visit for each. */
static uint32_t rounds_of(const ff_search_tree *tree, uint32_t considered) {
    uint32_t rounds = tree->granted / (tree->halvings * considered);
    return rounds ? rounds : 1;
}

void ff_search_begin_halving(const ff_search *search, ff_search_tree *tree) {
    const uint32_t edges = tree->nodes[0].edges;
    for (uint32_t i = 0; i < edges; i++)
        tree->gumbel[i] = tree->quiet ? 0.0 : -log(-log(ff_random_unit(&tree->random)));
    tree->granted = tree->sims_left;
    tree->considered = (uint32_t)search->options.gumbel;
    if (tree->considered > edges) tree->considered = edges;
    tree->halvings = 0;
    while (1u << tree->halvings < tree->considered) tree->halvings++;
    tree->level = tree->taken = 0;
    if (tree->considered > 1) tree->rounds = rounds_of(tree, tree->considered);
}

/* The visits that the candidates of the next simulation have. */
static uint32_t next_level(ff_search_tree *tree) {
    const uint32_t level = tree->level;
    if (++tree->taken < tree->considered) return level;
    tree->taken = 0;
    tree->level++;
    if (tree->considered > 1 && --tree->rounds == 0) {
        tree->considered = tree->considered > 4 ? tree->considered / 2 : 2;
        tree->rounds = rounds_of(tree, tree->considered);
    }
    return level;
}

/* What moves without a visit count as, from the root's own evaluation and from the visited
 * moves; of values, or of outcomes. */
static double mixed_value(const ff_search_tree *tree, int outcomes) {
    const uint32_t first = tree->nodes[0].first_edge, edges = tree->nodes[0].edges;
    double total = 0.0, priors = 0.0, values = 0.0;
    for (uint32_t edge = first; edge < first + edges; edge++) {
        if (tree->visits[edge] == 0) continue;
        total += tree->visits[edge];
        priors += tree->prior[edge];
        values += (double)tree->prior[edge] *
                  (outcomes ? ff_search_edge_outcome(tree, edge) : tree->mean[edge]);
    }
    const double own = outcomes ? tree->root_outcome : tree->root_value;
    return priors > 0.0 ? (own + total * (values / priors)) / (1.0 + total) : own;
}

/* log P + sigma(completed Q) of the root's edges; 0 for lost ones, which take no part. */
static void improved_logits(const ff_search_tree *tree, double *logit) {
    const uint32_t first = tree->nodes[0].first_edge, edges = tree->nodes[0].edges;
    const double mixed = mixed_value(tree, 0);
    double most = 0.0;
    for (uint32_t i = 0; i < edges; i++)
        if (tree->visits[first + i] > most) most = tree->visits[first + i];
    for (uint32_t i = 0; i < edges; i++) {
        const double value = tree->visits[first + i] ? tree->mean[first + i] : mixed;
        logit[i] = is_lost(tree, first + i) ? 0.0
                                            : log(tree->prior[first + i] + 1e-30) +
                                                  (VISITS_BEFORE + most) * VALUE_SCALE * value;
    }
}

/* The best edge of these visits that is not lost; of any visits if there is none. */
static uint32_t best_of(const ff_search_tree *tree, uint32_t visits, int with_gumbel) {
    const uint32_t first = tree->nodes[0].first_edge, edges = tree->nodes[0].edges;
    double logit[FF_MAX_ACTIONS], highest[2] = {-INFINITY, -INFINITY};
    uint32_t best[2] = {0, 0};
    improved_logits(tree, logit);
    for (uint32_t i = 0; i < edges; i++) {
        if (is_lost(tree, first + i)) continue;
        const double score = with_gumbel ? tree->gumbel[i] + logit[i] : logit[i];
        const int fits = tree->visits[first + i] == visits;
        for (int group = 0; group <= fits; group++)
            if (score > highest[group]) {
                highest[group] = score;
                best[group] = i;
            }
    }
    return first + best[highest[1] > -INFINITY];
}

uint32_t ff_search_halving_edge(ff_search_tree *tree) {
    return best_of(tree, next_level(tree), 1);
}

int ff_search_gumbel_action(const ff_search_tree *tree, int with_gumbel) {
    const ff_search_node *root = &tree->nodes[0];
    uint32_t most = 0;
    for (uint32_t edge = root->first_edge; edge < root->first_edge + root->edges; edge++)
        if (tree->visits[edge] > most) most = tree->visits[edge];
    return tree->action[best_of(tree, most, with_gumbel)];
}

void ff_search_improved_policy(const ff_search_tree *tree, double *target) {
    const uint32_t first = tree->nodes[0].first_edge, edges = tree->nodes[0].edges;
    double logit[FF_MAX_ACTIONS], highest = -INFINITY;
    improved_logits(tree, logit);
    for (uint32_t i = 0; i < edges; i++)
        if (!is_lost(tree, first + i)) highest = fmax(highest, logit[i]);
    for (uint32_t i = 0; i < edges; i++)
        target[i] = is_lost(tree, first + i) ? 0.0 : exp(logit[i] - highest);
}

float ff_search_gumbel_outcome(const ff_search_tree *tree) {
    const uint32_t first = tree->nodes[0].first_edge, edges = tree->nodes[0].edges;
    const double mixed = mixed_value(tree, 1);
    double target[FF_MAX_ACTIONS], weight = 0.0, sum = 0.0;
    ff_search_improved_policy(tree, target);
    for (uint32_t i = 0; i < edges; i++) {
        const int visited = tree->visits[first + i] > 0;
        weight += target[i];
        sum += target[i] * (visited ? (double)ff_search_edge_outcome(tree, first + i) : mixed);
    }
    return (float)(sum / weight);
}
