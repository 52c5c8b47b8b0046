#include "rules.h"

#include <string.h>

static void add_lines(ff_rules *rules, int down, int right) {
    const int n = rules->n, k = rules->k;
    for (int row = 0; row < n; row++) {
        for (int column = 0; column < n; column++) {
            int last_row = row + down * (k - 1), last_column = column + right * (k - 1);
            if (last_row >= n || last_column >= n || last_column < 0) continue;
            uint32_t line = 0;
            for (int i = 0; i < k; i++) line |= ff_bit((row + down * i) * n + column + right * i);
            rules->lines[rules->line_count++] = line;
        }
    }
}

int ff_rules_init(ff_rules *rules, int n, int m, int k) {
    if (n < 3 || n > FF_MAX_N || m < 2 || m > FF_MAX_M || 2 * m >= n * n || k < 2 || k > n)
        return FF_BAD_RULES;
    memset(rules, 0, sizeof *rules);
    rules->n = n;
    rules->m = m;
    rules->k = k;
    rules->cells = n * n;
    add_lines(rules, 0, 1);
    add_lines(rules, 1, 0);
    add_lines(rules, 1, 1);
    add_lines(rules, 1, -1);
    return FF_OK;
}
