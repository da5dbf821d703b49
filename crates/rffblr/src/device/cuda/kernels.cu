// Loops over the entries of column-major matrices, one thread for each: over all of them as one list, or by row and column.
// `n` is the number of rows.

typedef unsigned long long count;

#define ENTRY(i, total)                                                   \
    count i = (count)blockIdx.x * blockDim.x + threadIdx.x;               \
    if (i >= total) return;

// The second dimension of the grid is the column.
#define CELL(i, row, column)                                              \
    count row = (count)blockIdx.x * blockDim.x + threadIdx.x;             \
    if (row >= n) return;                                                 \
    count column = blockIdx.y, i = column * n + row;

// [Φ, 1] in place of angles: amplitude · cos(angle + offset), then the links, then one; rows times their roots.
extern "C" __global__ void lift(double *out, count n, const double *offsets, count waves, double amplitude,
                                const double *inputs, const count *links, count linked, double link_factor,
                                const double *root) {
    CELL(i, row, m)
    double value = 1.0;
    if (m < waves) {
        value = amplitude * cos(out[i] + offsets[m]);
    } else if (m - waves < linked) {
        value = link_factor * inputs[links[m - waves] * n + row];
    }
    out[i] = root ? root[row] * value : value;
}

extern "C" __global__ void scale_columns(double *a, count n, const double *factors) {
    CELL(i, row, column)
    a[i] *= factors[column];
}

extern "C" __global__ void scale_both(double *a, count n, const double *factors) {
    CELL(i, row, column)
    a[i] *= factors[row] * factors[column];
}

extern "C" __global__ void fill_upper(double *a, count n) {
    CELL(i, row, column)
    if (row < column) a[i] = a[row * n + column];
}

extern "C" __global__ void residual(double *mean, count n, const double *y, const double *share) {
    CELL(i, row, column)
    mean[i] = share[column] * (y[i] - mean[i]);
}

// For pairs of columns: g_sin cos − g_cos sin.
extern "C" __global__ void pull(double *out, count n, const double *cosines, const double *slopes) {
    CELL(i, row, pair)
    count cosine = 2 * pair * n + row, sine = cosine + n;
    out[i] = slopes[sine] * cosines[cosine] - slopes[cosine] * cosines[sine];
}

extern "C" __global__ void add(double *to, count total, const double *from, double factor) {
    ENTRY(i, total)
    to[i] += factor * from[i];
}

extern "C" __global__ void add_to_diagonal(double *a, count n, double value) {
    ENTRY(i, n)
    a[i * n + i] += value;
}

extern "C" __global__ void diagonal(double *out, count n, const double *a) {
    ENTRY(i, n)
    out[i] = a[i * n + i];
}

// Σ of the squares of each row.
extern "C" __global__ void row_squares(double *out, count n, const double *a, count columns) {
    ENTRY(i, n)
    double sum = 0.0;
    for (count j = 0; j < columns; j++) sum += a[j * n + i] * a[j * n + i];
    out[i] = sum;
}

// κ between the rows of x (n×D), lower triangle: 1 + linear x·x′ + v₁ exp(−γ₁ Σ Δ²) + v₂ exp(−γ₂ Σ r|Δ|).
extern "C" __global__ void kernel_of_rows(double *out, count n, const double *x, count inputs,
                                          const double *scales, double linear, double rbf_variance, double rbf_bandwidth,
                                          double laplace_variance, double laplace_bandwidth) {
    CELL(k, i, j)
    if (i < j) return;
    double product = 0.0, square = 0.0, absolute = 0.0;
    for (count d = 0; d < inputs; d++) {
        double a = x[d * n + i], b = x[d * n + j], delta = a - b;
        product += a * b;
        square += delta * delta;
        absolute += scales[d] * fabs(delta);
    }
    out[k] = 1.0 + linear * product + rbf_variance * exp(-rbf_bandwidth * square)
             + laplace_variance * exp(-laplace_bandwidth * absolute);
}

// u K uᵀ + σ²I over some rows of K (N×N), or all of them if there is no list; lower triangle.
extern "C" __global__ void weighted(double *out, count n, const double *kernel, count rows, const count *chosen,
                                    const double *root, double noise) {
    CELL(k, i, j)
    if (i < j) return;
    count row = chosen ? chosen[i] : i, column = chosen ? chosen[j] : j;
    out[k] = kernel[column * rows + row] * root[i] * root[j] + (i == j ? noise : 0.0);
}
