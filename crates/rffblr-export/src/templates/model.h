/* The way back from the scale of the transform of a target. */
static inline double PREFIX_back(const struct PREFIX_target *t, double u)
{
    double value;
    if (!t->shape) return u;
    u = u < t->low ? t->low : u > t->high ? t->high : u;
    value = t->centre + t->width * (t->shape == 1 ? exp(u) : 0.5 * (exp(u) - exp(-u)));
    return value < t->least ? t->least : value > t->most ? t->most : value;
}

static inline double PREFIX_dot(const double *a, const double *b, size_t count)
{
    double sum = 0;
    size_t i;
    for (i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

/* Cosine or sine of the phase of a moment in a cycle. */
static inline double PREFIX_cycle(double seconds, double period, double shift, int whole, int sine)
{
    double days = seconds / 86400, phase;
    if (seconds != seconds) return 0;
    phase = ((whole ? floor(days) : days) + shift) / period;
    phase = 6.283185307179586476925 * (phase - floor(phase));
    return sine ? sin(phase) : cos(phase);
}

/* From mean and variance of the standardised function to the target on its own scale. */
static inline void PREFIX_finish(const struct PREFIX_target *t, double f, double v, struct PREFIX_prediction *out)
{
    double location = t->shift + t->scale * f, std = t->scale * sqrt(v + t->noise);
    double total = 0, first = 0, second = 0;
    int k;
    out->value = PREFIX_back(t, location);
    out->std = std;
    out->lower = PREFIX_back(t, location + t->reach[0] * std);
    out->upper = PREFIX_back(t, location + t->reach[1] * std);
    if (!t->shape) return;
    for (k = -32; k <= 32; k++) {
        double node = 0.25 * k, weight = exp(-0.5 * node * node);
        double y = PREFIX_back(t, location + std * node) - out->value;
        total += weight;
        first += weight * y;
        second += weight * y * y;
    }
    first /= total;
    second = second / total - first * first;
    out->std = second > 0 ? sqrt(second) : 0;
    if (!t->median) out->value += first;
}
