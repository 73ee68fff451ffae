// Many LoRA adapters behind one deployment: their size, the adapters that a pass reads, those resident in HBM.
#pragma once
#include "roofslate/language/normal.hpp"
#include "roofslate/quantities/weights.hpp"
#include <array>

namespace roofslate::quantities
{
    // Shares by Zipf's law: item i of n is chosen in proportion to i^-s. The first 256 items are summed one by one.
    // Further ones are integrated over stretches (Gauss and Legendre), with the first term of Euler and Maclaurin's
    // formula: a sum of them is right to 1e-11. An n that is not whole has part of a last item. Below 1 it counts as 1,
    // beyond 1e15 as that.
    class ZipfShares
    {
    public:
        static bool defined(double n, double s) { return n > 0 && s >= 0 && s <= DBL_MAX; }

        ZipfShares(double n, double s)
        {
            n = min(max(n, 1.0), 1e15);
            const double whole_items = floor(n), singly = min(whole_items, 256.0);
            for (double i = 1; i <= singly; ++i)
                add(i, 1);
            if (whole_items > singly)
                add_stretches(singly + 1, whole_items);
            if (n > whole_items)
                add(whole_items + 1, n - whole_items);
            double total = 0, by_log = 0;
            for (std::size_t k = 0; k < size_; ++k)
            {
                share_[k] = exp(-s * position_[k]);
                total += weight_[k] * share_[k];
                by_log += weight_[k] * share_[k] * position_[k];
            }
            for (std::size_t k = 0; k < size_; ++k)
                share_[k] /= total;
            mean_log_ = by_log / total;
        }

        // Sum over items of f(share, derivative of the share by the exponent).
        template <class F> double sum(const F& f) const
        {
            double total = 0;
            for (std::size_t k = 0; k < size_; ++k)
                total += weight_[k] * f(share_[k], share_[k] * (mean_log_ - position_[k]));
            return total;
        }

    private:
        static constexpr std::size_t most = 1024;
        std::array<double, most> position_{}, weight_{}, share_{}; // position: the logarithm of an item's number
        std::size_t size_ = 0;
        double mean_log_ = 0;

        void add(double item, double times)
        {
            if (size_ < most)
            {
                position_[size_] = log(item);
                weight_[size_++] = times;
            }
        }
        void add_stretches(double first, double last)
        {
            static constexpr double node[3] = {0, 0.5384693101056831, 0.9061798459386640};
            static constexpr double part[3] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
            const double end = last + 0.5;
            for (double a = first - 0.5; a < end;)
            {
                const double b = min(a * 1.25, end), half = (b - a) / 2, middle = a + half;
                add(middle, part[0] * half);
                for (std::size_t k = 1; k < 3; ++k)
                {
                    add(middle - node[k] * half, part[k] * half);
                    add(middle + node[k] * half, part[k] * half);
                }
                a = b;
            }
            add(first, 1.0 / 24), add(first - 1, -1.0 / 24); // slopes at the ends by differences
            add(last + 1, -1.0 / 24), add(last, 1.0 / 24);
        }
    };

    // Different items among so many draws: sum_i 1 - (1 - p_i)^draws.
    struct zipf_distinct
    {
        static constexpr const char* name = "zipf_distinct";
        static constexpr const char* latex = "D_Z";
        static constexpr int arity = 3;
        static constexpr std::array<signed char, 3> directions{1, -1, 1};
        static constexpr std::array<double, 3> least{0, 0, 0};
        struct by_exponent;
        struct by_draws;
        using partials = list<no_partial, by_exponent, by_draws>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& s, const Dimension& draws)
        { return n * s * draws; }

        static double value(double n, double s, double draws)
        {
            if (!ZipfShares::defined(n, s) || !(draws >= 0))
                return n == 0 && s >= 0 && draws >= 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
            if (draws == 0)
                return 0;
            return ZipfShares(n, s).sum([&](double p, double) { return p < 1 ? share_of_any(p, draws) : 1; });
        }
    };
    struct zipf_distinct::by_exponent
    {
        static constexpr const char* name = "zipf_distinct_by_exponent";
        static constexpr const char* latex = "\\partial D_Z/\\partial s";
        static constexpr int arity = 3;
        static double value(double n, double s, double draws)
        {
            if (!ZipfShares::defined(n, s) || !(draws > 0))
                return 0;
            return ZipfShares(n, s).sum([&](double p, double slope) {
                return p < 1 ? draws * exp((draws - 1) * log(1 - p)) * slope : 0;
            });
        }
    };
    struct zipf_distinct::by_draws
    {
        static constexpr const char* name = "zipf_distinct_by_draws";
        static constexpr const char* latex = "\\partial D_Z/\\partial B";
        static constexpr int arity = 3;
        static double value(double n, double s, double draws)
        {
            if (!ZipfShares::defined(n, s))
                return 0;
            return ZipfShares(n, s).sum([&](double p, double) {
                const double rate = p < 1 ? -log(1 - p) : 0;
                return rate * exp(-rate * draws);
            });
        }
    };

    // Share of the draws that hit if so many items are resident (LRU, Che's approximation): sum_i p_i (1 - e^(-p_i t))
    // with t such that sum_i 1 - e^(-p_i t) are the slots. Newton's method from the left of the root of a concave
    // function.
    struct zipf_hit_rate
    {
        static constexpr const char* name = "zipf_hit_rate";
        static constexpr const char* latex = "h_Z";
        static constexpr int arity = 3;
        static constexpr std::array<signed char, 3> directions{-1, 0, 1};
        static constexpr std::array<double, 3> least{0, 0, 0};
        struct by_exponent;
        struct by_slots;
        using partials = list<no_partial, by_exponent, by_slots>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& s, const Dimension& slots)
        { return n * s * slots; }

        static double value(double n, double s, double slots)
        {
            if (!(n >= 0 && s >= 0 && slots >= 0))
                return std::numeric_limits<double>::quiet_NaN();
            if (slots >= max(n, 1.0))
                return 1;
            if (slots == 0)
                return 0;
            if (!ZipfShares::defined(n, s))
                return std::numeric_limits<double>::quiet_NaN();
            const ZipfShares shares(n, s);
            const double t = residence(shares, slots);
            return shares.sum([&](double p, double) { return p * (1 - exp(-p * t)); });
        }

    private:
        static double residence(const ZipfShares& shares, double slots)
        {
            double t = slots;
            for (int i = 0; i < 500; ++i)
            {
                const double lacking = slots - shares.sum([&](double p, double) { return 1 - exp(-p * t); });
                const double step = lacking / shares.sum([&](double p, double) { return p * exp(-p * t); });
                if (!(step > 1e-15 * t))
                    break;
                t += step;
            }
            return t;
        }
    };
    struct zipf_hit_rate::by_slots
    {
        static constexpr const char* name = "zipf_hit_rate_by_slots";
        static constexpr const char* latex = "\\partial h_Z/\\partial K";
        static constexpr int arity = 3;
        static double value(double n, double s, double slots)
        {
            if (!ZipfShares::defined(n, s) || !(slots > 0) || slots >= max(n, 1.0))
                return 0;
            const ZipfShares shares(n, s);
            const double t = residence(shares, slots);
            return shares.sum([&](double p, double) { return p * p * exp(-p * t); })
                / shares.sum([&](double p, double) { return p * exp(-p * t); });
        }
    };
    struct zipf_hit_rate::by_exponent
    {
        static constexpr const char* name = "zipf_hit_rate_by_exponent";
        static constexpr const char* latex = "\\partial h_Z/\\partial s";
        static constexpr int arity = 3;
        static double value(double n, double s, double slots)
        {
            if (!ZipfShares::defined(n, s) || !(slots > 0) || slots >= max(n, 1.0))
                return 0;
            const ZipfShares shares(n, s);
            const double t = residence(shares, slots);
            const double held = shares.sum([&](double p, double slope) { return t * exp(-p * t) * slope; });
            const double hits =
                shares.sum([&](double p, double slope) { return (1 - exp(-p * t) + p * t * exp(-p * t)) * slope; });
            return hits - by_slots::value(n, s, slots) * held;
        }
    };

    // --- inputs ---

    struct lora_adapters
    {
        static constexpr Spec spec =
            Spec("n_L", "1", "number of LoRA adapters (tenants), 0 for none", "Punica, S-LoRA").range(0).by_default(0);
    };
    struct lora_rank
    { static constexpr Spec spec = Spec("r_L", "1", "LoRA rank", "Punica").positive(); };
    struct lora_targets
    {
        static constexpr Spec spec =
            Spec("\\tau_L", "1", "LoRA target matrices (attention, all but routed experts)", "Punica")
                .one_of("attention", "all")
                .by_default(0);
    };
    struct lora_zipf_exponent
    {
        static constexpr Spec spec =
            Spec("s_L", "1", "Zipf exponent of LoRA adapter popularity, 0 for uniform", "Punica")
                .range(0)
                .by_default(0);
    };
    struct resident_adapters
    {
        static constexpr Spec spec =
            Spec("K_L", "1", "LoRA adapters resident in HBM (LRU), inf for all", "S-LoRA")
                .range(0, infinite)
                .by_default(infinite);
    };
    struct adapter_bytes_per_weight
    {
        static constexpr Spec spec =
            Spec("w_L", "byte/parameter", "bytes per LoRA weight, BF16 by default", "Punica").positive().by_default(2);
    };
    struct weights_per_adapter_element
    {
        static constexpr Spec spec =
            Spec("1", "parameter", "LoRA weights per rank and matrix input or output element", "LoRA")
                .positive()
                .by_default(1);
    };

    // --- one adapter ---

    struct adapted_attention_width
    {
        // With latent attention: queries from the residual stream, the latent vector down and up, the output.
        static constexpr Spec spec =
            Spec("n (d_i + d_o)_a", "1", "input plus output width of attention matrices, all layers", "LoRA");
        template <class T> static constexpr T formula(
            in<layers, T> n,
            in<hidden_size, T> d,
            in<attention_heads, T> n_h,
            in<kv_heads, T> n_kv,
            in<head_size, T> d_h,
            in<kv_latent_size, T> d_c)
        {
            const T heads = n_h * d_h;
            const T keys = select(d_c > T(0.0), d + 2.0 * (d_c + heads), 2.0 * (d + n_kv * d_h));
            return n * (2.0 * (d + heads) + keys);
        }
    };
    struct adapted_feed_forward_width
    {
        static constexpr Spec spec =
            Spec("n (d + d_f)", "1", "input plus output width per feed-forward matrix, no routed experts", "LoRA");
        template <class T> static constexpr T formula(
            in<layers, T> n,
            in<hidden_size, T> d,
            in<intermediate_size, T> d_f,
            in<experts, T> X,
            in<dense_layers, T> n_d,
            in<moe_layers, T> n_e,
            in<shared_experts, T> X_s,
            in<expert_intermediate_size, T> d_e)
        {
            const T shared = select(X_s == T(0.0), T(0.0), n_e * (d + X_s * d_e));
            return select(X <= 1.0, n * (d + d_f), plus_optional(shared, spend(n_d, d + d_f)));
        }
    };
    struct adapter_parameters
    {
        static constexpr Spec spec = Spec("N_L", "parameter", "parameters per LoRA adapter", "LoRA");
        template <class T> static constexpr T formula(
            in<lora_rank, T> r,
            in<lora_targets, T> which,
            in<weights_per_adapter_element, T> one,
            in<adapted_attention_width, T> attention,
            in<matrices_per_expert, T> three,
            in<adapted_feed_forward_width, T> feed_forward)
        { return r * choose(which, one * attention, one * attention + three * feed_forward); }
    };
    struct adapter_bytes
    {
        static constexpr Spec spec = Spec("W_L", "byte", "LoRA adapter size", "LoRA");
        template <class T> static constexpr T formula(in<adapter_parameters, T> N_L, in<adapter_bytes_per_weight, T> w)
        { return N_L * w; }
    };
    // Weights that a token is multiplied with in its adapter, 0 without adapters.
    template <class T> constexpr auto adapted_with(in<lora_adapters, T> n, in<adapter_parameters, T> N_L)
    { return select(n == T(0.0), T(0.0), N_L); }

    // --- which of them are in memory ---

    struct resident_adapter_bytes
    {
        static constexpr Spec spec =
            Spec("W_{Lr}", "byte", "resident LoRA adapters in HBM, all chips, copies included", "S-LoRA");
        template <class T> static constexpr T formula(
            in<lora_adapters, T> n,
            in<resident_adapters, T> K,
            in<adapter_bytes, T> W_L,
            in<dense_copies, T> copies)
        { return spend(min(n, K), W_L * copies); }
    };
    struct adapter_hit_rate
    {
        static constexpr Spec spec =
            Spec("h_L", "1", "LoRA adapter hit rate in HBM (LRU, Che approximation)", "Che, Tung, Wang 2002")
                .range(0, 1);
        template <class T> static constexpr T formula(
            in<lora_adapters, T> n,
            in<lora_zipf_exponent, T> s,
            in<resident_adapters, T> K)
        { return select(n == T(0.0) || K == T(infinite), T(1.0), routine<zipf_hit_rate>(n, s, K)); }
    };

    using adapters = list<
        lora_adapters,
        lora_rank,
        lora_targets,
        lora_zipf_exponent,
        resident_adapters,
        adapter_bytes_per_weight,
        weights_per_adapter_element,
        adapted_attention_width,
        adapted_feed_forward_width,
        adapter_parameters,
        adapter_bytes,
        resident_adapter_bytes,
        adapter_hit_rate>;
}
