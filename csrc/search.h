/* search.h -- PUCT over many trees at once.
 *
 * A simulation walks from the root to a leaf, has the leaf evaluated, and backs
 * the value up.  ff_search_select walks in every tree until it needs an
 * evaluation and writes the features of all those leaves as one batch; the
 * caller evaluates it with one call of the network; ff_search_expand gives each
 * leaf its edges and backs up.  A walk that ends in a finished game needs no
 * network and is backed up at once.
 *
 * At a node s with N(s) visits (its own evaluation is the first) a walk takes
 * the edge a with the highest
 *
 *     Q(s,a) + c(s) * P(s,a) * sqrt(N(s)) / (1 + N(s,a)),    ties: lowest action
 *     c(s) = c_init + log((N(s) + c_base + 1) / c_base)
 *
 * where Q of an edge not yet visited is
 *
 *     FPU(s) = V(s) - r * sqrt(sum of P over the visited edges of s)
 *
 * and, with the clamp, never less than -1: a move not tried cannot be worse
 * than a proven loss.  V(s) is the mean of all values backed up through s.
 * With fpu_dynamic, r * (V(s) + 1) / 2 replaces r.
 *
 * Every value is for the side to move and changes its sign at each edge; the
 * mean on an edge speaks for the player who moves along it.  An edge whose move
 * wins has exactly +1, one that ends in a draw (or at the ply cap) exactly 0.
 * An evaluation with a steps head counts as
 *
 *     (1 - lambda) * v - lambda * sign(v) * (2 * E[steps] / max_steps - 1)
 *
 * Root noise: P becomes (1 - eps) * P + eps * Dirichlet(alpha), once per root,
 * with eps = eps_min + (eps_0 - eps_min) * max(0, 1 - ply / noise_steps), or
 * eps_0 at every ply if noise_steps is 0.
 *
 * Memory.  A tree has room for node_capacity nodes.  Its edges are parallel
 * arrays (prior, mean, visits, child, action); a node's edges are neighbours that
 * start at a multiple of FF_EDGE_LANES and are padded to one with idle edges, so
 * that a walk reads them in vectors.  ff_search_begin makes sure that there is room
 * for all the simulations it grants, so no walk can run out of it.
 *
 * Trees share nothing that is written: a tree's result depends on its state,
 * its seed and its evaluations only.
 */
#ifndef FF_SEARCH_H
#define FF_SEARCH_H

#include "game.h"

/* cdef */
enum { FF_EDGE_LANES = 8, FF_EXPLORATION_KNOWN = 4096 };

enum {
    FF_BAD_OPTIONS = -17,
    FF_BAD_EVALUATION = -18, /* not finite, or no prior on any legal move */
    FF_BAD_ORDER = -19       /* select and expand must alternate */
};

typedef struct {
    float c_init;
    double c_base;
    float fpu_reduction;
    int fpu_clamp, fpu_dynamic;
    int fpu_at_noised_root; /* 0: no reduction at a root with noise */
    double noise_eps, noise_eps_min;
    int noise_steps;
    float dirichlet_alpha;
    float lambda_steps, max_steps;
    int max_plies; /* a game that reaches this ply is a draw */
    int reuse;     /* keep the subtree of the move played */
} ff_search_options;

typedef struct {
    uint32_t parent, parent_edge; /* of the root: unused */
    uint32_t first_edge;
    uint16_t edges; /* 0: not evaluated yet */
    uint16_t tried; /* edges with at least one visit */
    float seen;     /* the sum of their priors */
} ff_search_node;

typedef struct {
    ff_search_node *nodes; /* a parent always before its children; the root is 0 */
    uint8_t *states;       /* [nodes][state_bytes] */
    float *prior, *mean;
    uint32_t *visits, *child;
    uint16_t *action;
    uint32_t node_count, edge_count;
    uint32_t root_visits;
    float root_mean;
    int root_ply, result; /* result: how the root state stands */
    int noised;
    uint32_t sims_left;
    uint32_t leaf; /* the node that waits for its evaluation */
    uint64_t random;
    uint32_t forgotten; /* how often a kept subtree was dropped for lack of room */
    /* By the side to move: nodes walked through; those that had an untried move;
     * those of them whose FPU would be below -1 without the clamp. */
    uint64_t walked[2], open[2], starved[2];
} ff_search_tree;

typedef struct {
    const ff_game *game;
    ff_search_options options;
    float exploration[4096]; /* [N]: c(s) * sqrt(N) */
    uint32_t trees, node_capacity, edge_capacity;
    uint32_t edges_per_node; /* at most, idle ones included */
    ff_search_tree *tree;    /* [trees] */
} ff_search;

/* Bytes of memory that a search needs, 0 if that is more than a tree can number. */
size_t ff_search_bytes(const ff_game *game, uint32_t trees, uint32_t node_capacity);

/* Lays the trees out in `memory` (ff_search_bytes long, aligned to 64), which
 * the caller keeps as long as the search.  Tree i draws from seed + i. */
int ff_search_init(ff_search *search, const ff_game *game, const ff_search_options *options,
                   uint32_t trees, uint32_t node_capacity, uint64_t seed, void *memory);

/* Restarts a tree at this state; with a NULL seed its random sequence continues. */
void ff_search_reset(ff_search *search, uint32_t tree, const uint8_t *state, int ply,
                     const uint64_t *seed);

/* Grants every unfinished tree `sims` simulations; a tree without room for them
 * drops the subtree it kept.  FF_NO_ROOM if there is too little room even then. */
int ff_search_begin(ff_search *search, uint32_t sims);

/* Walks in every tree up to a leaf.  Fills planes [rows][planes][rows][columns]
 * and the trees they are of; returns the number of rows, 0 when all simulations
 * are done.  Evaluating a new root is not a simulation. */
int ff_search_select(ff_search *search, float *planes, int32_t *leaf_trees);

/* The evaluations of the last batch: policy [rows][actions], as logits or as
 * weights that need not sum to 1, of which the legal ones count; value [rows]
 * in -1 .. 1 and expected steps [rows] (or NULL), for the side to move.
 * On an error nothing has changed. */
int ff_search_expand(ff_search *search, int rows, const float *policy, int logits,
                     const float *value, const float *steps);

/* Does all granted simulations, with equal priors and the same value everywhere. */
int ff_search_run_constant(ff_search *search, float value);

/* Plays this action at the root of a tree. */
int ff_search_advance(ff_search *search, uint32_t tree, int action);

/* The share of noise at this ply. */
double ff_noise_share(const ff_search_options *options, int ply);

/* Of every root, by action: visits, priors (noise included), means (0 where
 * there is no visit); arrays [trees][actions], each may be NULL. */
void ff_search_roots(const ff_search *search, uint32_t *visits, float *priors, float *means);

/* softmax(log(visits) / temperature) of every root, [trees][actions]; with
 * temperature 0 all of it on the most visited action, the lowest among equals.
 * Zeros where the root has no visits. */
void ff_search_policies(const ff_search *search, const float *temperature, float *policy);

/* An action drawn from that policy, by the tree's own numbers; -1 where the
 * root has no visits. */
void ff_search_choose(ff_search *search, const float *temperature, int32_t *actions);
/* end cdef */

#define FF_NO_CHILD UINT32_C(0)            /* the root is nobody's child */
#define FF_GAME_ENDS UINT32_C(0xFFFFFFFF) /* the move ends the game: its mean is the result */
#define FF_NOTHING_WAITS UINT32_C(0xFFFFFFFF)

/* A root with noise, as its options ask; for search.c and search_root.c. */
void ff_search_add_noise(const ff_search *search, ff_search_tree *tree);

/* The tree becomes its root alone, not evaluated. */
void ff_search_forget(ff_search_tree *tree);

#endif
