// Chapter 5: compute of pretraining, reinforcement learning and inference, and how many tokens each should see.
#pragma once
#include "roofslate/quantities/training_failures.hpp"
#include <cfloat>
#include <limits>

namespace roofslate::quantities
{
    // --- tokens ---

    struct model_token_rate
    {
        static constexpr Spec spec =
            Spec("R_i", "token/s", "served-token rate of a model, all replicas", "R5.5").positive();
    };
    struct model_lifetime
    { static constexpr Spec spec = Spec("T_i", "s", "serving lifetime of a model", "R5.5").positive(); };
    struct lifetime_tokens
    {
        static constexpr Spec spec = Spec("D_i", "token", "tokens served in the lifetime of a model", "R5.5");
        template <class T> static constexpr T formula(in<model_token_rate, T> R, in<model_lifetime, T> T_i)
        { return R * T_i; }
    };
    struct deployment_probability
    {
        static constexpr Spec spec =
            Spec("p_i", "1", "deployment probability of a trained model", "R5.8").positive(1).by_default(1);
    };
    struct expected_inference_tokens
    {
        static constexpr Spec spec =
            Spec("\\bar{D}_i", "token", "expected inference tokens, deployment probability included", "R5.8");
        template <class T> static constexpr T formula(in<deployment_probability, T> p, in<lifetime_tokens, T> D)
        { return p * D; }
    };
    struct inference_tokens
    {
        static constexpr Spec spec =
            Spec("D_\\mathrm{inf}", "token", "inference tokens", "R5.2")
                .positive()
                .otherwise<expected_inference_tokens>();
    };

    // --- FLOPs of a token ---

    struct rl_flops_per_parameter
    {
        static constexpr Spec spec =
            Spec(
                "c_\\mathrm{RL}",
                "FLOP/parameter/token",
                "reinforcement-learning (RL) FLOPs per parameter and token (2 to 6)",
                "R5.2")
                .range(2, 6);
    };

    // --- compute utilization of training relative to decoding ---

    struct prefill_token_rate
    {
        static constexpr Spec spec =
            Spec("R_p", "token/s", "measured prefill throughput, all chips", "R6.5").positive();
    };
    struct decode_token_rate
    {
        static constexpr Spec spec =
            Spec("R_d", "token/s", "decode throughput, all chips, measured or predicted", "R6.5")
                .positive()
                .otherwise<replica_throughput>();
    };
    struct prefill_utilization
    {
        static constexpr Spec spec =
            Spec("u_p", "1", "prefill compute utilization, from throughput", "R5.2").positive(1);
        template <class T> static constexpr T formula(
            in<prefill_token_rate, T> R,
            in<flops_per_token, T> f,
            in<chips, T> G,
            in<peak_flops, T> F)
        { return R * (f / (G * F)); }
    };
    struct decode_utilization
    {
        static constexpr Spec spec =
            Spec("u_d", "1", "decode compute utilization, from throughput", "R5.2").positive(1);
        template <class T> static constexpr T formula(
            in<decode_token_rate, T> R,
            in<flops_per_token, T> f,
            in<chips, T> G,
            in<peak_flops, T> F)
        { return prefill_utilization::formula<T>(as<prefill_token_rate>(R), f, G, F); }
    };
    struct decode_inefficiency
    {
        static constexpr Spec spec =
            Spec("I", "1", "ratio of cost per FLOP in decode to training", "R5.2")
                .range(1)
                .advice("give decode_inefficiency (the lecture's 3), or training_utilization and decode_utilization");
        template <class T> static constexpr T formula(in<training_utilization, T> u_T, in<decode_utilization, T> u_d)
        { return u_T / u_d; }
    };

    // --- cost of a served token relative to a trained one, after prefill and decode, perhaps on other chips ---

    struct input_token_share
    {
        static constexpr Spec spec =
            Spec("x_\\mathrm{in}", "1", "input-token fraction of served tokens", "arXiv 2401.00448")
                .range(0, 1)
                .by_default(0);
    };
    struct prefill_inefficiency
    {
        static constexpr Spec spec =
            Spec("I_\\mathrm{in}", "1", "ratio of cost per FLOP in prefill to training", "arXiv 2401.00448")
                .positive()
                .by_default(1);
    };
    struct serving_price_ratio
    {
        static constexpr Spec spec =
            Spec("\\rho_s", "1", "ratio of price per peak FLOP in serving to training", "arXiv 2401.00448")
                .positive()
                .by_default(1);
    };
    struct serving_inefficiency
    {
        static constexpr Spec spec =
            Spec("I_s", "1", "ratio of cost per FLOP in serving to training", "R5.2").positive();
        template <class T> static constexpr T formula(
            in<input_token_share, T> x,
            in<prefill_inefficiency, T> I_in,
            in<decode_inefficiency, T> I,
            in<serving_price_ratio, T> rho)
        { return rho * (x * I_in + (1.0 - x) * I); }
    };

    // --- tokens that make the three buckets cost the same ---

    struct pretraining_rl_token_ratio
    {
        static constexpr Spec spec =
            Spec("r_\\mathrm{RL}", "1", "ratio of pretraining to RL tokens at equal cost", "R5.4");
        template <class T> static constexpr T formula(
            in<rl_flops_per_parameter, T> c,
            in<decode_inefficiency, T> I,
            in<training_flops_per_parameter, T> six)
        { return c * I / six; }
    };
    struct pretraining_inference_token_ratio
    {
        static constexpr Spec spec =
            Spec("r_\\mathrm{inf}", "1", "ratio of pretraining to inference tokens at equal cost", "R5.4");
        template <class T> static constexpr T formula(
            in<flops_per_parameter_token, T> two,
            in<serving_inefficiency, T> I,
            in<training_flops_per_parameter, T> six)
        { return two * I / six; }
    };
    struct balanced_pretraining_tokens
    {
        static constexpr Spec spec =
            Spec("D_\\mathrm{PT}^=", "token", "pretraining tokens at equal pretraining and inference cost", "R5.4");
        template <class T> static constexpr T formula(
            in<inference_tokens, T> D,
            in<pretraining_inference_token_ratio, T> r)
        { return D * r; }
    };
    struct pretraining_tokens
    {
        static constexpr Spec spec =
            Spec("D_\\mathrm{PT}", "token", "pretraining tokens", "R5.2")
                .positive()
                .otherwise<balanced_pretraining_tokens>();
    };
    struct balanced_rl_tokens
    {
        static constexpr Spec spec =
            Spec("D_\\mathrm{RL}^=", "token", "RL tokens at equal pretraining and RL cost", "R5.4");
        template <class T> static constexpr T formula(in<pretraining_tokens, T> D, in<pretraining_rl_token_ratio, T> r)
        { return D / r; }
    };
    struct rl_tokens
    {
        static constexpr Spec spec =
            Spec("D_\\mathrm{RL}", "token", "reinforcement-learning (RL) tokens generated", "R5.2")
                .range(0)
                .otherwise<balanced_rl_tokens>();
    };

    // --- how many tokens a large batch asks for more: McCandlish et al., arXiv 1812.06162, and Zhang et al., arXiv
    // 2410.21676, whose critical batch grows with the tokens of a run ---

    struct critical_batch_coefficient
    {
        static constexpr Spec spec =
            Spec(
                "B_1",
                "token",
                "critical-batch coefficient of the power law, inf if no limit",
                "Zhang et al. 2024, arXiv 2410.21676")
                .positive(infinite)
                .by_default(infinite);
    };
    struct critical_batch_exponent
    {
        static constexpr Spec spec =
            Spec(
                "\\kappa_B",
                "1",
                "critical-batch exponent in pretraining tokens",
                "Zhang et al. 2024, arXiv 2410.21676")
                .range(0)
                .by_default(0.47);
    };
    struct critical_batch_overhead
    {
        // 1 where the batch is the noise scale of gradients; Zhang et al. define it by a fifth more.
        static constexpr Spec spec =
            Spec("o_B", "1", "fraction of extra tokens at the critical batch size", "arXiv 1812.06162; 2410.21676")
                .range(0)
                .by_default(1);
    };
    struct critical_batch_tokens
    {
        static constexpr Spec spec =
            Spec(
                "B_c",
                "token",
                "critical batch size in tokens, inf if no limit",
                "McCandlish et al. 2018, arXiv 1812.06162")
                .positive(infinite);
        template <class T> static constexpr T formula(
            in<critical_batch_coefficient, T> B_1,
            in<critical_batch_exponent, T> kappa,
            in<pretraining_tokens, T> D)
        { return select(B_1 == T(infinite), T(infinite), B_1 * pow(count(D), kappa)); }
    };
    struct large_batch_factor
    {
        static constexpr Spec spec = Spec(
            "f_B",
            "1",
            "ratio of large-batch to small-batch tokens at equal loss",
            "McCandlish et al. 2018, arXiv 1812.06162");
        template <class T> static constexpr T formula(
            in<critical_batch_tokens, T> B_c,
            in<tokens_per_step, T> B,
            in<critical_batch_overhead, T> o)
        { return select(B_c == T(infinite), T(1.0), 1.0 + o * (B / B_c)); }
    };
    struct processed_pretraining_tokens
    {
        static constexpr Spec spec =
            Spec("D_B", "token", "processed pretraining tokens, large-batch overhead included", "arXiv 1812.06162");
        template <class T> static constexpr T formula(in<pretraining_tokens, T> D, in<large_batch_factor, T> f)
        { return D * f; }
    };
    struct fewest_pretraining_steps
    {
        static constexpr Spec spec =
            Spec("S_{min}", "1", "minimum pretraining steps at equal loss, unlimited batch size", "arXiv 1812.06162");
        template <class T> static constexpr T formula(
            in<pretraining_tokens, T> D,
            in<critical_batch_overhead, T> o,
            in<critical_batch_tokens, T> B_c)
        { return D * (o / B_c); }
    };

    // --- the three buckets; decoding counts as the training that its chips could have done ---

    struct pretraining_flops
    {
        static constexpr Spec spec = Spec("C_\\mathrm{PT}", "FLOP", "pretraining compute", "R5.1").positive();
        template <class T> static constexpr T formula(
            in<processed_pretraining_tokens, T> D,
            in<training_flops_per_token, T> f)
        { return D * f; }
    };
    struct rl_flops
    {
        static constexpr Spec spec = Spec(
            "C_\\mathrm{RL}",
            "FLOP",
            "reinforcement-learning (RL) compute, weighted by decode inefficiency",
            "R5.2");
        template <class T> static constexpr T formula(
            in<rl_tokens, T> D,
            in<rl_flops_per_parameter, T> c,
            in<active_parameters, T> N_a,
            in<decode_inefficiency, T> I)
        { return D * (c * N_a * I); }
    };
    struct inference_flops
    {
        static constexpr Spec spec =
            Spec("C_\\mathrm{inf}", "FLOP", "inference compute, weighted by serving inefficiency", "R5.2");
        template <class T> static constexpr T formula(
            in<inference_tokens, T> D,
            in<flops_per_token, T> f,
            in<serving_inefficiency, T> I)
        { return D * (f * I); }
    };
    struct lifetime_flops
    {
        static constexpr Spec spec =
            Spec("C_\\mathrm{tot}", "FLOP", "lifetime compute (pretraining, RL, inference)", "R5.2");
        template <class T> static constexpr T formula(
            in<pretraining_flops, T> C_PT,
            in<rl_flops, T> C_RL,
            in<inference_flops, T> C_inf)
        { return C_PT + C_RL + C_inf; }
    };
    struct inference_flops_share
    {
        static constexpr Spec spec =
            Spec("C_\\mathrm{inf}/C_\\mathrm{tot}", "1", "inference fraction of lifetime compute", "R5.3");
        template <class T> static constexpr T formula(in<inference_flops, T> C_inf, in<lifetime_flops, T> C)
        { return C_inf / C; }
    };

    // --- chips and money ---

    struct pretraining_chip_time
    {
        static constexpr Spec spec = Spec("G T_\\mathrm{PT}", "chip*s", "pretraining chip time", "R5.1");
        template <class T> static constexpr T formula(
            in<pretraining_flops, T> C,
            in<peak_flops, T> F,
            in<training_utilization, T> u,
            in<training_goodput, T> eta)
        { return C / (F * (u * eta)); }
    };
    struct pretraining_cost
    {
        static constexpr Spec spec = Spec("c_\\mathrm{PT}", "USD", "pretraining cost", "R5.1");
        template <class T> static constexpr T formula(in<pretraining_chip_time, T> GT, in<chip_price, T> p)
        { return GT * p; }
    };
    struct rl_chip_time
    {
        static constexpr Spec spec =
            Spec("G T_\\mathrm{RL}", "chip*s", "reinforcement-learning (RL) chip time", "R5.2");
        template <class T> static constexpr T formula(
            in<rl_flops, T> C,
            in<peak_flops, T> F,
            in<training_utilization, T> u)
        { return C / (F * u); }
    };
    struct inference_chip_time
    {
        static constexpr Spec spec =
            Spec("G T_\\mathrm{inf}", "chip*s", "inference chip time in training-chip equivalents", "R5.2");
        template <class T> static constexpr T formula(
            in<inference_flops, T> C,
            in<peak_flops, T> F,
            in<training_utilization, T> u)
        { return rl_chip_time::formula<T>(as<rl_flops>(C), F, u); }
    };
    struct lifetime_chip_time
    {
        static constexpr Spec spec =
            Spec("G T_\\mathrm{tot}", "chip*s", "lifetime chip time (pretraining, RL, inference)", "R5.2");
        template <class T> static constexpr T formula(
            in<pretraining_chip_time, T> PT,
            in<rl_chip_time, T> RL,
            in<inference_chip_time, T> inf)
        { return PT + RL + inf; }
    };
    struct rl_cost
    {
        static constexpr Spec spec = Spec("\\hat{c}_\\mathrm{RL}", "USD", "reinforcement-learning (RL) cost", "R5.2");
        template <class T> static constexpr T formula(in<rl_chip_time, T> GT, in<chip_price, T> p)
        { return pretraining_cost::formula<T>(as<pretraining_chip_time>(GT), p); }
    };
    struct inference_cost
    {
        static constexpr Spec spec = Spec("c_\\mathrm{inf}", "USD", "inference cost", "R5.2");
        template <class T> static constexpr T formula(in<inference_chip_time, T> GT, in<chip_price, T> p)
        { return pretraining_cost::formula<T>(as<pretraining_chip_time>(GT), p); }
    };
    struct lifetime_cost
    {
        static constexpr Spec spec =
            Spec("c_\\mathrm{tot}", "USD", "lifetime cost (pretraining, RL, inference)", "R5.2");
        template <class T> static constexpr T formula(
            in<pretraining_cost, T> PT,
            in<rl_cost, T> RL,
            in<inference_cost, T> inf)
        { return PT + RL + inf; }
    };
    struct pretraining_time
    {
        static constexpr Spec spec = Spec("T_\\mathrm{PT}", "s", "pretraining time", "R5.1");
        template <class T> static constexpr T formula(in<pretraining_chip_time, T> GT, in<chips, T> G)
        { return GT / G; }
    };
    struct rl_chips
    {
        static constexpr Spec spec =
            Spec("G_\\mathrm{RL}", "chip", "chips for reinforcement learning (RL)", "R5.2")
                .positive()
                .otherwise<chips>();
    };
    struct rl_time
    {
        static constexpr Spec spec = Spec("T_\\mathrm{RL}", "s", "reinforcement-learning (RL) time", "R5.2");
        template <class T> static constexpr T formula(in<rl_chip_time, T> GT, in<rl_chips, T> G)
        { return pretraining_time::formula<T>(as<pretraining_chip_time>(GT), as<chips>(G)); }
    };
    struct serving_chips
    {
        static constexpr Spec spec =
            Spec("G_\\mathrm{inf}", "chip", "mean serving chips of a model in training-chip equivalents", "R5.5");
        template <class T> static constexpr T formula(in<inference_chip_time, T> GT, in<model_lifetime, T> T_i)
        { return GT / T_i; }
    };
    struct pretraining_steps
    {
        static constexpr Spec spec = Spec("D_\\mathrm{PT}/n_T", "1", "pretraining steps", "R5.1");
        template <class T> static constexpr T formula(
            in<processed_pretraining_tokens, T> D,
            in<tokens_per_step, T> tokens)
        { return D / tokens; }
    };
    struct spent_chip_time
    { static constexpr Spec spec = Spec("G T_s", "chip*s", "reported pretraining chip time", "R5.1").positive(); };
    struct reported_utilization
    {
        static constexpr Spec spec =
            Spec("u_\\mathrm{PT}", "1", "pretraining compute utilization, from reported chip time", "R5.1");
        template <class T> static constexpr T formula(
            in<pretraining_flops, T> C,
            in<spent_chip_time, T> GT,
            in<peak_flops, T> F)
        { return C / (GT * F); }
    };

    // --- why equal: the least sum of a cost that rises, a x^p, and one that falls, b x^-n ---

    struct rising_coefficient
    { static constexpr Spec spec = Spec("a", "1", "rising cost at unit effort", "R5.3").positive(); };
    struct falling_coefficient
    { static constexpr Spec spec = Spec("b", "1", "falling cost at unit effort", "R5.3").positive(); };
    struct rising_exponent
    {
        static constexpr Spec spec =
            Spec("p_x", "1", "exponent of the rising cost in the effort", "R5.3").positive().by_default(1);
    };
    struct falling_exponent
    {
        static constexpr Spec spec =
            Spec("n_x", "1", "exponent of the falling cost in the effort, positive", "R5.3").positive().by_default(1);
    };
    struct effort
    {
        static constexpr Spec spec =
            Spec("x", "1", "effort, driver of one rising and one falling cost", "R5.3").positive();
    };
    struct rising_cost
    {
        static constexpr Spec spec = Spec("c_\\uparrow", "1", "rising cost", "R5.3");
        template <class T> static constexpr T formula(
            in<rising_coefficient, T> a,
            in<effort, T> x,
            in<rising_exponent, T> p)
        { return a * pow(x, p); }
    };
    struct falling_cost
    {
        static constexpr Spec spec = Spec("c_\\downarrow", "1", "falling cost", "R5.3");
        template <class T> static constexpr T formula(
            in<falling_coefficient, T> b,
            in<effort, T> x,
            in<falling_exponent, T> n)
        { return b * pow(x, -n); }
    };
    struct effort_cost
    {
        static constexpr Spec spec = Spec("c_{\\uparrow\\downarrow}", "1", "total of rising and falling cost", "R5.3");
        template <class T> static constexpr T formula(in<rising_cost, T> up, in<falling_cost, T> down)
        { return up + down; }
    };
    struct equal_cost_effort
    {
        static constexpr Spec spec = Spec("x^=", "1", "effort at equal rising and falling cost", "R5.3");
        template <class T> static constexpr T formula(
            in<rising_coefficient, T> a,
            in<falling_coefficient, T> b,
            in<rising_exponent, T> p,
            in<falling_exponent, T> n)
        { return pow(b / a, 1.0 / (p + n)); }
    };
    struct least_cost_effort
    {
        static constexpr Spec spec = Spec("x^*", "1", "effort at minimum total cost", "R5.3");
        template <class T> static constexpr T formula(
            in<rising_coefficient, T> a,
            in<falling_coefficient, T> b,
            in<rising_exponent, T> p,
            in<falling_exponent, T> n)
        { return pow(n * b / (p * a), 1.0 / (p + n)); }
    };
    struct least_rising_cost
    {
        static constexpr Spec spec = Spec("c_\\uparrow^*", "1", "rising cost at minimum total cost", "R5.3");
        template <class T> static constexpr T formula(
            in<rising_coefficient, T> a,
            in<least_cost_effort, T> x,
            in<rising_exponent, T> p)
        { return a * pow(x, p); }
    };
    struct least_falling_cost
    {
        static constexpr Spec spec = Spec("c_\\downarrow^*", "1", "falling cost at minimum total cost", "R5.3");
        template <class T> static constexpr T formula(
            in<falling_coefficient, T> b,
            in<least_cost_effort, T> x,
            in<falling_exponent, T> n)
        { return b * pow(x, -n); }
    };
    struct least_cost
    {
        static constexpr Spec spec =
            Spec("c_{\\uparrow\\downarrow}^*", "1", "minimum total of rising and falling cost", "R5.3");
        template <class T> static constexpr T formula(in<least_rising_cost, T> up, in<least_falling_cost, T> down)
        { return up + down; }
    };
    struct least_cost_ratio
    {
        static constexpr Spec spec =
            Spec("c_\\uparrow^*/c_\\downarrow^*", "1", "ratio of rising to falling cost at minimum total cost", "R5.3");
        template <class T> static constexpr T formula(in<least_rising_cost, T> up, in<least_falling_cost, T> down)
        { return up / down; }
    };

    struct equal_cost_penalty
    {
        static constexpr Spec spec = Spec(
            "c_{\\uparrow\\downarrow}^=/c_{\\uparrow\\downarrow}^*",
            "1",
            "ratio of total cost at equal costs to minimum total cost",
            "R5.3");
        template <class T> static constexpr T formula(
            in<rising_coefficient, T> a,
            in<equal_cost_effort, T> x,
            in<rising_exponent, T> p,
            in<least_cost, T> least)
        { return 2.0 * (a * pow(x, p)) / least; }
    };

    // --- over-training ---

    struct optimal_tokens_per_parameter
    {
        static constexpr Spec spec =
            Spec(
                "20",
                "token/parameter",
                "compute-optimal pretraining tokens per parameter (Chinchilla)",
                "arXiv 2203.15556")
                .positive()
                .by_default(20);
    };
    struct chinchilla_tokens
    {
        static constexpr Spec spec = Spec("D_{20}", "token", "compute-optimal pretraining tokens (Chinchilla)", "R5.7");
        template <class T> static constexpr T formula(
            in<optimal_tokens_per_parameter, T> twenty,
            in<active_parameters, T> N_a)
        { return twenty * N_a; }
    };
    struct overtraining_ratio
    {
        static constexpr Spec spec =
            Spec("x_{20}", "1", "ratio of pretraining tokens to compute-optimal tokens", "R5.7");
        template <class T> static constexpr T formula(in<pretraining_tokens, T> D, in<chinchilla_tokens, T> D_c)
        { return D / D_c; }
    };

    // --- the same from a loss law, L = E + A/N^alpha + B/D^beta: least compute, serving included, for a given loss ---

    // x with x^beta = 1 + k/x: ratio of tokens to compute-optimal tokens at which no other size reaches the same loss
    // cheaper. In y = ln x the equation is concave and rises, so Newton's steps from 0 climb to the root and never pass
    // it.
    struct overtraining_optimum
    {
        static constexpr const char* name = "overtraining_optimum";
        static constexpr const char* latex = "X";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{-1, 1};
        static constexpr std::array<double, 3> least{0, 0, 0};
        struct by_beta;
        struct by_k;
        using partials = list<by_beta, by_k>;
        static constexpr Dimension dimension(const Dimension& beta, const Dimension& k) { return beta * k; }

        static double value(double beta, double k)
        {
            if (!(beta > 0) || !(k >= 0))
                return std::numeric_limits<double>::quiet_NaN();
            if (k > DBL_MAX || beta > DBL_MAX)
                return k > DBL_MAX ? k : 1;
            double y = 0;
            for (int step = 0; step < 100; ++step)
            {
                const double pull = k * exp(-y);
                const double next = y + (log(1 + pull) - beta * y) / (beta + pull / (1 + pull));
                if (!(next > y))
                    break;
                y = next;
            }
            return exp(y);
        }
    };
    // From beta y = ln(1 + k/x), y = ln x, by the rule for implicit functions.
    struct overtraining_optimum::by_beta
    {
        static constexpr const char* name = "overtraining_optimum_by_beta";
        static constexpr const char* latex = "\\partial X/\\partial\\beta";
        static constexpr int arity = 2;
        static double value(double beta, double k)
        {
            const double x = overtraining_optimum::value(beta, k);
            return -x * log(x) / (beta + k / (x + k));
        }
    };
    struct overtraining_optimum::by_k
    {
        static constexpr const char* name = "overtraining_optimum_by_k";
        static constexpr const char* latex = "\\partial X/\\partial k";
        static constexpr int arity = 2;
        static double value(double beta, double k)
        {
            const double x = overtraining_optimum::value(beta, k);
            return x / (x + k) / (beta + k / (x + k));
        }
    };

    struct irreducible_loss
    {
        static constexpr Spec spec =
            Spec("E", "1", "irreducible loss in nats per token, infinite model and data", "R5.9").range(0);
    };
    struct loss_size_coefficient
    { static constexpr Spec spec = Spec("A_L", "1", "model-size coefficient of the loss law", "R5.9").positive(); };
    struct loss_data_coefficient
    { static constexpr Spec spec = Spec("B_L", "1", "data coefficient of the loss law", "R5.9").positive(); };
    struct loss_size_exponent
    { static constexpr Spec spec = Spec("\\alpha_L", "1", "model-size exponent of the loss law", "R5.9").positive(); };
    struct loss_data_exponent
    { static constexpr Spec spec = Spec("\\beta_L", "1", "data exponent of the loss law", "R5.9").positive(); };
    struct loss_unit_size
    {
        static constexpr Spec spec =
            Spec("1_N", "parameter", "model-size unit of the loss law", "definition").positive().by_default(1);
    };
    struct loss_unit_tokens
    {
        static constexpr Spec spec =
            Spec("1_D", "token", "token unit of the loss law", "definition").positive().by_default(1);
    };
    struct loss_from_size
    {
        static constexpr Spec spec = Spec("A_L/N_a^\\alpha", "1", "model-size term of the loss law", "R5.9");
        template <class T> static constexpr T formula(
            in<loss_size_coefficient, T> A,
            in<active_parameters, T> N,
            in<loss_unit_size, T> one,
            in<loss_size_exponent, T> alpha)
        { return A * pow(N / one, -alpha); }
    };
    struct pretraining_loss
    {
        static constexpr Spec spec = Spec("\\mathcal L", "1", "pretraining loss in nats per token, loss law", "R5.9");
        template <class T> static constexpr T formula(
            in<irreducible_loss, T> E,
            in<loss_from_size, T> L_N,
            in<loss_data_coefficient, T> B,
            in<pretraining_tokens, T> D,
            in<loss_unit_tokens, T> one,
            in<loss_data_exponent, T> beta)
        { return E + (L_N + B * pow(D / one, -beta)); }
    };
    struct compute_optimal_tokens
    {
        static constexpr Spec spec = Spec("D_c", "token", "compute-optimal pretraining tokens, loss law", "R5.9");
        template <class T> static constexpr T formula(
            in<loss_unit_tokens, T> one,
            in<loss_data_exponent, T> beta,
            in<loss_data_coefficient, T> B,
            in<loss_size_exponent, T> alpha,
            in<loss_from_size, T> L_N)
        { return one * pow(beta * B / (alpha * L_N), 1.0 / beta); }
    };
    struct compute_optimal_tokens_per_parameter
    {
        static constexpr Spec spec =
            Spec("D_c/N_a", "token/parameter", "compute-optimal pretraining tokens per parameter, loss law", "R5.9");
        template <class T> static constexpr T formula(in<compute_optimal_tokens, T> D_c, in<active_parameters, T> N_a)
        { return D_c / N_a; }
    };
    struct frontier_size_exponent
    {
        static constexpr Spec spec =
            Spec("a_C", "1", "exponent of compute-optimal model size in compute", "arXiv 2203.15556").positive(1);
        template <class T> static constexpr T formula(in<loss_size_exponent, T> alpha, in<loss_data_exponent, T> beta)
        { return beta / (alpha + beta); }
    };
    struct anchor_parameters
    {
        static constexpr Spec spec =
            Spec("N_0", "parameter", "size of a known compute-optimal model", "arXiv 2203.15556").positive();
    };
    struct anchor_tokens
    {
        static constexpr Spec spec =
            Spec("D_0", "token", "pretraining tokens of a known compute-optimal model", "arXiv 2203.15556").positive();
    };
    struct frontier_tokens
    {
        static constexpr Spec spec = Spec(
            "D_0 (N_a/N_0)^{1/a_C - 1}",
            "token",
            "compute-optimal pretraining tokens, power law through a known model",
            "arXiv 2203.15556");
        template <class T> static constexpr T formula(
            in<anchor_tokens, T> D_0,
            in<active_parameters, T> N,
            in<anchor_parameters, T> N_0,
            in<frontier_size_exponent, T> a)
        { return D_0 * pow(N / N_0, 1.0 / a - 1.0); }
    };
    struct compute_budget
    { static constexpr Spec spec = Spec("C", "FLOP", "pretraining compute budget", "arXiv 2203.15556").positive(); };
    struct budget_optimal_parameters
    {
        static constexpr Spec spec =
            Spec("N_c(C)", "parameter", "compute-optimal model size at the compute budget", "arXiv 2203.15556");
        template <class T> static constexpr T formula(
            in<compute_budget, T> C,
            in<training_flops_per_parameter, T> six,
            in<loss_unit_size, T> one_N,
            in<loss_unit_tokens, T> one_D,
            in<loss_size_coefficient, T> A,
            in<loss_data_coefficient, T> B,
            in<loss_size_exponent, T> alpha,
            in<loss_data_exponent, T> beta)
        { return one_N * pow(alpha * A / (beta * B) * pow(C / (six * one_N * one_D), beta), 1.0 / (alpha + beta)); }
    };
    struct budget_optimal_tokens
    {
        static constexpr Spec spec =
            Spec("D_c(C)", "token", "compute-optimal pretraining tokens at the compute budget", "arXiv 2203.15556");
        template <class T> static constexpr T formula(
            in<compute_budget, T> C,
            in<training_flops_per_parameter, T> six,
            in<budget_optimal_parameters, T> N)
        { return C / (six * N); }
    };
    struct equal_cost_overtraining
    {
        static constexpr Spec spec =
            Spec("2^{1/\\beta}", "1", "inference-aware overtraining ratio at equal serving and training cost", "R5.9");
        template <class T> static constexpr T formula(in<loss_data_exponent, T> beta)
        { return pow(T(2.0), 1.0 / beta); }
    };
    struct optimal_overtraining
    {
        static constexpr Spec spec =
            Spec("x_D", "1", "overtraining ratio at the inference-aware optimum, equal loss", "R5.9");
        template <class T> static constexpr T formula(
            in<loss_data_exponent, T> beta,
            in<balanced_pretraining_tokens, T> D_b,
            in<compute_optimal_tokens, T> D_c)
        { return routine<overtraining_optimum>(beta, D_b / D_c); }
    };
    struct optimal_pretraining_tokens
    {
        static constexpr Spec spec =
            Spec("D^*", "token", "pretraining tokens at the inference-aware optimum, equal loss", "R5.9");
        template <class T> static constexpr T formula(in<compute_optimal_tokens, T> D_c, in<optimal_overtraining, T> x)
        { return D_c * x; }
    };
    struct optimal_inference_training_ratio
    {
        static constexpr Spec spec = Spec(
            "D_\\mathrm{PT}^=/D^*",
            "1",
            "ratio of inference to pretraining cost, inference-aware optimum",
            "R5.9");
        template <class T> static constexpr T formula(
            in<balanced_pretraining_tokens, T> D_b,
            in<optimal_pretraining_tokens, T> D)
        { return D_b / D; }
    };
    struct optimal_loss
    {
        static constexpr Spec spec =
            Spec("\\mathcal L^*", "1", "pretraining loss in nats per token at the inference-aware optimum", "R5.9");
        template <class T> static constexpr T formula(
            in<irreducible_loss, T> E,
            in<loss_from_size, T> L_N,
            in<loss_data_coefficient, T> B,
            in<optimal_pretraining_tokens, T> D,
            in<loss_unit_tokens, T> one,
            in<loss_data_exponent, T> beta)
        { return pretraining_loss::formula<T>(E, L_N, B, as<pretraining_tokens>(D), one, beta); }
    };

    // --- compared with the compute-optimal model of equal loss, which is larger and sees fewer tokens ---

    struct law_overtraining
    {
        static constexpr Spec spec =
            Spec("D_\\mathrm{PT}/D_c", "1", "ratio of pretraining tokens to compute-optimal tokens, loss law", "R5.9");
        template <class T> static constexpr T formula(in<pretraining_tokens, T> D, in<compute_optimal_tokens, T> D_c)
        { return D / D_c; }
    };
    struct equal_loss_parameters
    {
        static constexpr Spec spec =
            Spec("N_=", "parameter", "size of the compute-optimal model with equal loss", "arXiv 2401.00448");
        template <class T> static constexpr T formula(
            in<active_parameters, T> N,
            in<loss_size_exponent, T> alpha,
            in<loss_data_exponent, T> beta,
            in<law_overtraining, T> x)
        { return N * pow((1.0 + alpha / beta) / (1.0 + alpha / beta * pow(x, -beta)), 1.0 / alpha); }
    };
    struct equal_loss_tokens
    {
        static constexpr Spec spec =
            Spec("D_=", "token", "pretraining tokens of the compute-optimal model with equal loss", "arXiv 2401.00448");
        template <class T> static constexpr T formula(
            in<compute_optimal_tokens, T> D_c,
            in<equal_loss_parameters, T> N_e,
            in<active_parameters, T> N,
            in<loss_size_exponent, T> alpha,
            in<loss_data_exponent, T> beta)
        { return D_c * pow(N_e / N, alpha / beta); }
    };
    struct break_even_inference_tokens
    {
        static constexpr Spec spec = Spec(
            "D_\\mathrm{inf}^=",
            "token",
            "break-even inference tokens of overtraining, inf if never",
            "arXiv 2401.00448");
        template <class T> static constexpr T formula(
            in<active_parameters, T> N,
            in<pretraining_tokens, T> D,
            in<equal_loss_parameters, T> N_e,
            in<equal_loss_tokens, T> D_e,
            in<pretraining_inference_token_ratio, T> r)
        { return select(N_e > N, (N * D - N_e * D_e) / (N_e - N) / r, T(infinite)); }
    };
    struct training_optimal_parameters
    {
        static constexpr Spec spec =
            Spec("N_c", "parameter", "compute-optimal model size at the inference-aware optimum's loss", "R5.9");
        template <class T> static constexpr T formula(
            in<active_parameters, T> N,
            in<loss_size_exponent, T> alpha,
            in<loss_data_exponent, T> beta,
            in<optimal_overtraining, T> x)
        { return equal_loss_parameters::formula<T>(N, alpha, beta, as<law_overtraining>(x)); }
    };
    struct least_training_tokens
    {
        static constexpr Spec spec = Spec(
            "D_c(N_c)",
            "token",
            "compute-optimal tokens at the inference-aware optimum's loss",
            "arXiv 2401.00448");
        template <class T> static constexpr T formula(
            in<compute_optimal_tokens, T> D_c,
            in<training_optimal_parameters, T> N_c,
            in<active_parameters, T> N,
            in<loss_size_exponent, T> alpha,
            in<loss_data_exponent, T> beta)
        { return equal_loss_tokens::formula<T>(D_c, as<equal_loss_parameters>(N_c), N, alpha, beta); }
    };
    struct optimal_token_ratio
    {
        static constexpr Spec spec = Spec(
            "D^*/D_c(N_c)",
            "1",
            "ratio of inference-aware to compute-optimal tokens at equal loss",
            "arXiv 2401.00448");
        template <class T> static constexpr T formula(
            in<optimal_pretraining_tokens, T> D,
            in<least_training_tokens, T> D_c)
        { return D / D_c; }
    };
    struct optimal_lifetime_saving
    {
        static constexpr Spec spec =
            Spec("1 - C^*/C_c", "1", "compute fraction saved by the inference-aware optimum, equal loss", "R5.9");
        template <class T> static constexpr T formula(
            in<active_parameters, T> N,
            in<training_optimal_parameters, T> N_c,
            in<optimal_pretraining_tokens, T> D,
            in<least_training_tokens, T> D_c,
            in<balanced_pretraining_tokens, T> D_b)
        { return 1.0 - (D + D_b) / (D_c + D_b) * (N / N_c); }
    };

    using training = list<
        model_token_rate,
        model_lifetime,
        lifetime_tokens,
        deployment_probability,
        expected_inference_tokens,
        inference_tokens,
        rl_flops_per_parameter,
        prefill_token_rate,
        decode_token_rate,
        prefill_utilization,
        decode_utilization,
        decode_inefficiency,
        input_token_share,
        prefill_inefficiency,
        serving_price_ratio,
        serving_inefficiency,
        pretraining_rl_token_ratio,
        pretraining_inference_token_ratio,
        balanced_pretraining_tokens,
        pretraining_tokens,
        balanced_rl_tokens,
        rl_tokens,
        critical_batch_coefficient,
        critical_batch_exponent,
        critical_batch_overhead,
        critical_batch_tokens,
        large_batch_factor,
        processed_pretraining_tokens,
        fewest_pretraining_steps,
        pretraining_flops,
        rl_flops,
        inference_flops,
        lifetime_flops,
        inference_flops_share,
        pretraining_chip_time,
        pretraining_cost,
        rl_chip_time,
        inference_chip_time,
        lifetime_chip_time,
        rl_cost,
        inference_cost,
        lifetime_cost,
        pretraining_time,
        rl_chips,
        rl_time,
        serving_chips,
        pretraining_steps,
        spent_chip_time,
        reported_utilization,
        rising_coefficient,
        falling_coefficient,
        rising_exponent,
        falling_exponent,
        effort,
        rising_cost,
        falling_cost,
        effort_cost,
        equal_cost_effort,
        least_cost_effort,
        least_rising_cost,
        least_falling_cost,
        least_cost,
        least_cost_ratio,
        equal_cost_penalty,
        optimal_tokens_per_parameter,
        chinchilla_tokens,
        overtraining_ratio,
        irreducible_loss,
        loss_size_coefficient,
        loss_data_coefficient,
        loss_size_exponent,
        loss_data_exponent,
        loss_unit_size,
        loss_unit_tokens,
        loss_from_size,
        pretraining_loss,
        compute_optimal_tokens,
        compute_optimal_tokens_per_parameter,
        frontier_size_exponent,
        anchor_parameters,
        anchor_tokens,
        frontier_tokens,
        compute_budget,
        budget_optimal_parameters,
        budget_optimal_tokens,
        equal_cost_overtraining,
        optimal_overtraining,
        optimal_pretraining_tokens,
        optimal_inference_training_ratio,
        optimal_loss,
        law_overtraining,
        equal_loss_parameters,
        equal_loss_tokens,
        break_even_inference_tokens,
        training_optimal_parameters,
        least_training_tokens,
        optimal_token_ratio,
        optimal_lifetime_saving>;
}
