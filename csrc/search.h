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
 * Such a value says who wins and how soon, and is for choosing moves.  Beside it every node
 * keeps the mean of the v alone, its outcome: what a win - loss prediction may learn from.
 * (Learning the shrunken value would shrink v, and with it the next value.)
 *
 * Root noise: P becomes (1 - eps) * P + eps * Dirichlet(alpha), once per root,
 * with eps = eps_min + (eps_0 - eps_min) * max(0, 1 - ply / noise_steps), or
 * eps_0 at every ply if noise_steps is 0.
 *
 * Forced playouts (option forced_playouts, k).  At a root with noise a move that has a
 * visit is taken first, the lowest action among several, as long as
 *
 *     N(s,a) < n_forced(a) = sqrt(k * P(s,a) * sum of N(s,b) over all b)
 *
 * so that what the noise proposes is looked at often enough to be judged.  The target
 * takes those visits away again: from every move but the most visited one, a*, up to
 * n_forced(a) visits are subtracted while the score of a, with the visits that are
 * left, stays below that of a*; what is left with a single visit gets 0.
 *
 * Gumbel (option gumbel, the number of candidates; Danihelka et al. 2022).  Below the
 * root all is as above.  At the root, with n simulations granted and g(a) = -log(-log u)
 * drawn once for each of its moves, the candidates are the m = min(gumbel, moves) with
 * the highest g + log P.  They get visits in rounds of one each; after
 * max(1, n / (ceil(log2 m) * m')) rounds of m' candidates the better half of them goes on,
 * never fewer than 2.  A candidate is as good as
 *
 *     g(a) + log P(s,a) + sigma(q(a)),   sigma(q) = (50 + max N(s,b)) * 0.1 * q
 *
 * where q(a) = Q(s,a), and for a move without a visit a mean of the root's evaluation v
 * and of what is known: (v + sum N * (sum P Q / sum P over the visited)) / (1 + sum N).
 * The move chosen is the best of the most visited ones (at temperature 0 without g), and
 * the target is softmax(log P + sigma(q)) over all moves.  Other noise there is none, a
 * lost move is out, and every search begins with a new root.  The outcome of such a root is
 * the sum of target * outcome of the move, completed in the same way: its mean over the visits
 * would be that of the candidates, bad ones included.  A quiet search has g = 0, and at a
 * temperature its move is drawn from the target, as with PUCT.
 *
 * Lower bounds (option lcb, z).  At temperature 0, among the moves with at least 0.15 of
 * the visits of the most visited one, the move with the highest
 *
 *     Q(s,a) - z * sqrt(s2 / N(s,a)),   s2 = (1 + sum of (v - Q(s,a))^2) / N(s,a)
 *
 * over the values v backed up through it (the 1 stands for what few visits cannot know)
 * instead of the most visited move.  The sum is N * (mean of v^2 - Q^2), and every node keeps
 * its mean of v^2.  For searches from scratch: a kept subtree was searched for another root.
 *
 * Proofs (option prove).  A move that ends the game by its rules, with a line or a
 * full board, is proven; the ply cap proves nothing.  For the side to move a node is
 *
 *     won    if a move of it is won;      plies: the fewest of its won moves
 *     drawn  if all are proven, none is   plies: the most of its drawn moves (on a
 *            won and one is drawn;               full board all draws end alike)
 *     lost   if all its moves are lost;   plies: the most of its moves
 *
 * and the move that leads to it is lost, drawn or won, in one ply more.  The plies are
 * a bound: the winner needs no more of them, and perhaps a move not tried needs fewer.
 * No walk enters a proven node: one that takes a drawn move counts 0 at once, a lost
 * move is never taken, and a node with a won move is proven itself, so that its
 * parent avoids it or is proven too.  A proven root ends the search.
 *
 * What was counted before a proof is put right.  When a move of a node s that is not proven
 * itself turns out to be lost or drawn, all its visits count -1 or 0 from then on, in s and in
 * every node above (and so do their squares and outcomes).  The visits of a lost move leave the
 * move, so that it is neither chosen nor learned, but stay in N(s) and above: a move whose
 * replies are refuted one after the other keeps the visits that refuted them, and the values.
 * (Withdrawn from all nodes above, as if it had never been tried, a lost move costs more
 * blunders than proofs save: tests/test_search_proofs.py.)
 *
 * Of a won root the quickest won move is chosen and learned, of a lost one the longest
 * defence, at any temperature; a lost move of another root has no visits, so it is
 * neither chosen nor learned.  If that leaves none, the priors of the others decide.
 *
 * Memory.  A tree has room for node_capacity nodes.  Its edges are parallel
 * arrays (prior, mean, visits, child, action, proof); a node's edges are neighbours that
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

/* A proof, for the player who moves along the edge: plies << 2 | result; 0: none. */
enum { FF_WON = 1, FF_DRAW = 2, FF_LOST = 3, FF_PROOF_RESULT = 3, FF_MOST_PROOF_PLIES = 16383 };

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
    int prove;     /* back up proven results as such */
    float forced_playouts;
    float lcb;
    int gumbel; /* candidates of sequential halving; 0: PUCT at the root too */
} ff_search_options;

typedef struct {
    uint32_t parent, parent_edge; /* of the root: unused */
    uint32_t first_edge;
    uint16_t edges; /* 0: not evaluated yet */
    uint16_t tried; /* edges with at least one visit */
    float seen;     /* the sum of their priors */
    float outcome;  /* for the side to move, over the visits of the edge that leads here */
    float square;   /* the mean of the squares of the values of those visits */
} ff_search_node;

typedef struct {
    ff_search_node *nodes; /* a parent always before its children; the root is 0 */
    uint8_t *states;       /* [nodes][state_bytes] */
    float *prior, *mean;
    uint32_t *visits, *child;
    uint16_t *action, *proof;
    uint32_t node_count, edge_count;
    uint32_t root_visits;
    float root_mean;
    int root_ply, result; /* result: how the root state stands */
    int noised, quiet; /* quiet: no noise in this search */
    int root_proof; /* for the side to move at the root */
    uint32_t sims_left;
    uint32_t leaf; /* the node that waits for its evaluation */
    uint64_t random;
    uint32_t forgotten; /* how often a kept subtree was dropped for lack of room */
    /* By the side to move: nodes walked through; those that had an untried move;
     * those of them whose FPU would be below -1 without the clamp. */
    uint64_t walked[2], open[2], starved[2];
    /* Simulations that were granted and not made, because the root was proven. */
    uint64_t spared;
    /* Of a Gumbel root: its evaluation, simulations granted; candidates, rounds left with
     * them, visits that each has, those that had their turn in this round. */
    float root_value, root_outcome;
    uint32_t granted, halvings, considered, rounds, level, taken;
    double gumbel[361];
    float clean[361]; /* of a root with noise: its priors before it */
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

/* Grants every unfinished tree its number of simulations, sims [trees], with noise at
 * the root unless quiet [trees] says otherwise; a tree without room for them drops the
 * subtree it kept.  FF_NO_ROOM if there is too little room even then. */
int ff_search_begin(ff_search *search, const uint32_t *sims, const uint8_t *quiet);

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

/* The root's priors as the evaluator gave them, without noise, [trees][actions]. */
void ff_search_clean_priors(const ff_search *search, float *priors);

/* What a value learns from every root, [trees]: its outcome for the side to move. */
void ff_search_outcomes(const ff_search *search, float *outcomes);

/* What a policy learns from every root, [trees][actions]: the visits, or weights in
 * their place where proofs decide.  Zeros where the root has no visits. */
void ff_search_targets(const ff_search *search, float *targets);

/* The proofs of every root's moves, [trees][actions], for the side to move. */
void ff_search_proofs(const ff_search *search, uint16_t *proofs);

/* softmax(log(target) / temperature) of every root, [trees][actions]; with
 * temperature 0 all of it on the highest target, the lowest action among equals.
 * Zeros where the root has no visits. */
void ff_search_policies(const ff_search *search, const float *temperature, float *policy);

/* An action drawn from that policy, by the tree's own numbers; -1 where the
 * root has no visits. */
void ff_search_choose(ff_search *search, const float *temperature, int32_t *actions);
/* end cdef */

#define FF_NO_CHILD UINT32_C(0)            /* the root is nobody's child */
#define FF_GAME_ENDS UINT32_C(0xFFFFFFFF) /* the move ends the game: its mean is the result */
#define FF_NOTHING_WAITS UINT32_C(0xFFFFFFFF)

/* c(s) * sqrt(N) of a node with these visits. */
float ff_search_exploration(const ff_search *search, uint32_t visits);

/* The visits below which a move of the root is forced: 0 if the options force none. */
float ff_search_forced(const ff_search *search, const ff_search_tree *tree, uint32_t edge);

/* The root is evaluated: draws what a Gumbel search needs. */
void ff_search_begin_halving(const ff_search *search, ff_search_tree *tree);

/* The root's edge for the next simulation of a Gumbel search. */
uint32_t ff_search_halving_edge(ff_search_tree *tree);

/* What a Gumbel search chooses, and what a policy learns from it. */
int ff_search_gumbel_action(const ff_search_tree *tree, int with_gumbel);
void ff_search_improved_policy(const ff_search_tree *tree, double *target);

/* The outcome of a Gumbel root that is not proven. */
float ff_search_gumbel_outcome(const ff_search_tree *tree);

/* The outcome of an edge of the root, for the side to move there. */
float ff_search_edge_outcome(const ff_search_tree *tree, uint32_t edge);

/* A root with noise, as its options ask; for search.c and search_root.c. */
void ff_search_add_noise(const ff_search *search, ff_search_tree *tree);

/* This edge of this node has this proof, and has been backed up: what follows. */
void ff_search_prove(ff_search_tree *tree, uint32_t node, uint32_t edge, int proof);

/* The proof of a node that its edges give, for the side to move there. */
int ff_search_proof_of(const ff_search_tree *tree, uint32_t node);

/* The root is proven, with this proof: no more simulations. */
void ff_search_settle_root(ff_search_tree *tree, int proof);

/* The tree becomes its root alone, not evaluated. */
void ff_search_forget(ff_search_tree *tree);

#endif
