#include "symmetry.h"

#include <string.h>

/* Does "t first, then s" carry every cell where `product` carries it? */
static int same_permutation(const ff_symmetry *symmetry, int cells, int s, int t, int product) {
    for (int cell = 0; cell < cells; cell++)
        if (symmetry->image[s][symmetry->image[t][cell]] != symmetry->image[product][cell])
            return 0;
    return 1;
}

int ff_symmetry_init(ff_symmetry *symmetry, int n) {
    if (n < 2 || n > FF_MAX_N) return FF_BAD_RULES;
    memset(symmetry, 0, sizeof *symmetry);
    const int cells = n * n;
    for (int t = 0; t < FF_TRANSFORMS; t++) {
        for (int cell = 0; cell < cells; cell++) {
            int image = ff_carried(n, t, cell);
            symmetry->image[t][cell] = (uint8_t)image;
            if (image == cell) {
                symmetry->stabiliser[cell] |= (uint8_t)(1u << t);
                symmetry->fixed_cells[t]++;
            }
        }
    }
    for (int s = 0; s < FF_TRANSFORMS; s++)
        for (int t = 0; t < FF_TRANSFORMS; t++)
            for (int product = 0; product < FF_TRANSFORMS; product++)
                if (same_permutation(symmetry, cells, s, t, product)) {
                    symmetry->compose[s][t] = (uint8_t)product;
                    if (product == 0) symmetry->inverse[t] = (uint8_t)s;
                }
    return FF_OK;
}
