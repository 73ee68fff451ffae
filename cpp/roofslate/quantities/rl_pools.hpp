// Reinforcement learning on two pools of chips: rollout replicas, a trainer that learns from them, and
// the new weights on their way back.
#pragma once
#include "roofslate/quantities/rollouts.hpp"
#include "roofslate/quantities/training.hpp"

namespace roofslate::quantities
{
    struct rl_mode
    {
        static constexpr Spec spec =
            Spec(
                "\\rho_m",
                "1",
                "order of rollouts and updates (synchronous, colocated, asynchronous)",
                "AReaL, arXiv 2505.24298")
                .one_of("synchronous", "colocated", "asynchronous")
                .by_default(0);
    };
    struct rollout_refill
    {
        static constexpr Spec spec =
            Spec(
                "\\rho_f",
                "1",
                "free slots at batch end (awaited, refilled by the next batch)",
                "AReaL, arXiv 2505.24298")
                .one_of("awaited", "refilled")
                .by_default(0);
    };

    // --- the pools ---

    struct rollout_replicas
    { static constexpr Spec spec = Spec("R_R", "1", "rollout replicas", "definition").positive().by_default(1); };
    struct rollout_chips
    {
        static constexpr Spec spec = Spec("G_R", "chip", "chips of the rollout pool", "definition");
        template <class T> static constexpr T formula(in<rollout_replicas, T> R, in<chips, T> G) { return R * G; }
    };
    struct trainer_chips
    {
        static constexpr Spec spec =
            Spec("G_T", "chip", "chips of the trainer pool", "definition").positive().otherwise<chips>();
    };
    struct rl_paid_chips
    {
        static constexpr Spec spec =
            Spec("G_{RT}", "chip", "chips of both pools, shared chips counted once", "definition");
        template <class T> static constexpr T formula(
            in<rl_mode, T> mode,
            in<rollout_chips, T> G_R,
            in<trainer_chips, T> G_T)
        { return select(is<rl_mode>(mode, "colocated"), max(G_R, G_T), G_R + G_T); }
    };
    struct rollout_chip_price
    {
        static constexpr Spec spec =
            Spec("p_R", "USD/s/chip", "rental price per rollout chip", "definition").range(0).otherwise<chip_price>();
    };
    struct trainer_chip_price
    {
        static constexpr Spec spec =
            Spec("p_T", "USD/s/chip", "rental price per trainer chip", "definition").range(0).otherwise<chip_price>();
    };

    // --- one step: a batch of rollouts, an update, new weights ---

    struct rl_batch_rollouts
    {
        static constexpr Spec spec =
            Spec("n_S", "sequence", "rollouts per reinforcement-learning (RL) step, all replicas", "definition");
        template <class T> static constexpr T formula(in<rollouts_per_batch, T> n, in<rollout_replicas, T> R)
        { return n * R; }
    };
    struct rl_step_tokens
    {
        static constexpr Spec spec =
            Spec("D_S", "token", "trained tokens per RL step, prompts included", "definition").positive();
        template <class T> static constexpr T formula(
            in<rl_batch_rollouts, T> n,
            in<input_tokens, T> I,
            in<mean_rollout_tokens, T> m)
        { return n * (I + m); }
    };
    struct scoring_passes
    {
        static constexpr Spec spec =
            Spec("n_s", "1", "scoring passes per token (reference model, old policy)", "PPO, arXiv 1707.06347")
                .range(0)
                .by_default(0);
    };
    struct update_epochs
    {
        static constexpr Spec spec =
            Spec("n_e", "1", "update epochs per rollout", "PPO, arXiv 1707.06347").positive().by_default(1);
    };
    struct trainer_peak_flops
    {
        static constexpr Spec spec =
            Spec("F_G", "FLOP/s/chip", "peak compute per trainer chip", "R1.2").positive().otherwise<peak_flops_bf16>();
    };
    struct trainer_time
    {
        static constexpr Spec spec =
            Spec("t_G", "s", "update time of an RL step, scoring passes included", "R5.1").range(0);
        template <class T> static constexpr T formula(
            in<rl_step_tokens, T> D,
            in<training_flops_per_token, T> f,
            in<update_epochs, T> epochs,
            in<scoring_passes, T> scored,
            in<flops_per_parameter_token, T> two,
            in<active_parameters, T> N_a,
            in<trainer_chips, T> G,
            in<trainer_peak_flops, T> F,
            in<training_utilization, T> u)
        { return D * (spend_beside(f * epochs, scored, two * N_a) / (F * u)) / G; }
    };
    struct weight_sync_path
    {
        static constexpr Spec spec =
            Spec("\\rho_y", "1", "weight-synchronization path (relayed by replicas, direct)", "definition")
                .one_of("relayed", "direct")
                .by_default(0);
    };
    struct weight_sync_bandwidth
    {
        static constexpr Spec spec =
            Spec("u_y", "byte/s/chip", "weight-synchronization bandwidth per chip, each direction", "definition")
                .positive(infinite)
                .otherwise<scale_out_bandwidth>();
    };
    struct weight_sync_time
    {
        static constexpr Spec spec =
            Spec("t_y", "s", "weight-synchronization time to all rollout replicas", "definition").range(0);
        template <class T> static constexpr T formula(
            in<deployed_weight_bytes, T> W,
            in<chips, T> G,
            in<weight_sync_path, T> path,
            in<rollout_replicas, T> R,
            in<trainer_chips, T> G_T,
            in<weight_sync_bandwidth, T> u,
            in<link_efficiency, T> eta)
        { return W * (max(1.0 / G, choose(path, T(1.0), R) / G_T) / (u * eta)); }
    };
    struct rollout_pool_time
    {
        static constexpr Spec spec =
            Spec("t_R", "s", "rollout time of an RL step, awaited or refilled slots", "definition");
        template <class T> static constexpr T formula(
            in<rollout_refill, T> refill,
            in<rollout_time, T> awaited,
            in<refilled_rollout_time, T> full)
        { return choose(refill, awaited, full); }
    };
    struct rl_step_time
    {
        static constexpr Spec spec = Spec(
            "T_S",
            "s",
            "reinforcement-learning (RL) step time, synchronization included",
            "AReaL, arXiv 2505.24298");
        template <class T> static constexpr T formula(
            in<rl_mode, T> mode,
            in<rollout_pool_time, T> t_R,
            in<trainer_time, T> t_G,
            in<weight_sync_time, T> t_y)
        { return select(is<rl_mode>(mode, "asynchronous"), max(t_R, t_G), t_R + t_G) + t_y; }
    };
    struct rollout_pool_utilization
    {
        static constexpr Spec spec =
            Spec("t_R/T_S", "1", "rollout-pool utilization, fraction of a step spent generating", "definition");
        template <class T> static constexpr T formula(in<rollout_pool_time, T> t, in<rl_step_time, T> T_S)
        { return t / T_S; }
    };
    struct trainer_pool_utilization
    {
        static constexpr Spec spec =
            Spec("t_G/T_S", "1", "trainer-pool utilization, fraction of a step spent training", "definition");
        template <class T> static constexpr T formula(in<trainer_time, T> t, in<rl_step_time, T> T_S)
        { return t / T_S; }
    };
    struct balanced_trainer_chips
    {
        static constexpr Spec spec =
            Spec("G_T^=", "chip", "trainer chips at which both pools take equally long", "definition");
        template <class T> static constexpr T formula(
            in<trainer_chips, T> G_T,
            in<trainer_time, T> t_G,
            in<rollout_pool_time, T> t_R)
        { return G_T * (t_G / t_R); }
    };
    struct rl_staleness
    {
        // A batch waits for the update before its own; a rollout in refilled slots also sees those made while it runs.
        static constexpr Spec spec =
            Spec("s_S", "1", "rollout staleness, mean updates from first token to training", "AReaL, arXiv 2505.24298");
        template <class T> static constexpr T formula(
            in<rl_mode, T> mode,
            in<rollout_refill, T> refill,
            in<refilled_rollout_time, T> full,
            in<batch_slots, T> N,
            in<rollouts_per_batch, T> n,
            in<rl_step_time, T> T_S)
        {
            return select(
                is<rl_mode>(mode, "asynchronous"),
                1.0 + choose(refill, T(0.0), full * (N / n) / T_S),
                T(0.0));
        }
    };

    // --- cost ---

    struct rl_step_cost
    {
        static constexpr Spec spec = Spec("c_S", "USD", "cost of an RL step, both pools", "definition");
        template <class T> static constexpr T formula(
            in<rl_mode, T> mode,
            in<rl_step_time, T> T_S,
            in<rollout_chips, T> G_R,
            in<rollout_chip_price, T> p_R,
            in<trainer_chips, T> G_T,
            in<trainer_chip_price, T> p_T,
            in<rl_paid_chips, T> G)
        { return T_S * select(is<rl_mode>(mode, "colocated"), G * p_R, G_R * p_R + G_T * p_T); }
    };
    struct rl_cost_per_token
    {
        static constexpr Spec spec =
            Spec("c_S/D_S", "USD/token", "RL cost per trained token, both pools", "definition");
        template <class T> static constexpr T formula(in<rl_step_cost, T> c, in<rl_step_tokens, T> D) { return c / D; }
    };
    struct rl_steps
    {
        static constexpr Spec spec = Spec("n_{RL}", "1", "reinforcement-learning (RL) steps", "definition").positive();
        template <class T> static constexpr T formula(in<rl_tokens, T> D, in<rl_step_tokens, T> D_S) { return D / D_S; }
    };
    struct rl_pools_time
    {
        static constexpr Spec spec = Spec("T_P", "s", "RL time, all steps, both pools", "definition");
        template <class T> static constexpr T formula(in<rl_steps, T> n, in<rl_step_time, T> t) { return n * t; }
    };
    struct rl_pools_cost
    {
        static constexpr Spec spec = Spec("c_P", "USD", "RL cost, all steps, both pools", "definition");
        template <class T> static constexpr T formula(in<rl_steps, T> n, in<rl_step_cost, T> c) { return n * c; }
    };

    using rl_pools = list<
        rl_mode,
        rollout_refill,
        rollout_replicas,
        rollout_chips,
        trainer_chips,
        rl_paid_chips,
        rollout_chip_price,
        trainer_chip_price,
        rl_batch_rollouts,
        rl_step_tokens,
        scoring_passes,
        update_epochs,
        trainer_peak_flops,
        trainer_time,
        weight_sync_path,
        weight_sync_bandwidth,
        weight_sync_time,
        rollout_pool_time,
        rl_step_time,
        rollout_pool_utilization,
        trainer_pool_utilization,
        balanced_trainer_chips,
        rl_staleness,
        rl_step_cost,
        rl_cost_per_token,
        rl_steps,
        rl_pools_time,
        rl_pools_cost>;
}
