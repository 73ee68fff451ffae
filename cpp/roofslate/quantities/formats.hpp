// THE TABLE of number formats: one entry a format, from which the words of choices, bits, peaks and kernels follow.
#pragma once
#include "roofslate/language/quantity.hpp"

namespace roofslate::quantities
{
    // The peak of a chip that a format is multiplied at; the others are dequantized to bf16.
    enum class Peak
    {
        bf16,
        fp8,
        int8,
        fp4
    };
    // The rows of a kernel table that hold for a format.
    enum class Kernels
    {
        bf16,
        fp8,
        nvfp4,
        mxfp4,
        int4
    };

    struct NumberFormat
    {
        const char* name;
        const char* aliases; // separated by spaces
        double element_bits; // of a mixture: the mean of a whole model, scales included
        double group_size;   // weights that share a scale; 0: a scale a tensor or channel, which is not counted
        double scale_bits;   // of a group
        double zero_point_bits;
        Peak peak;
        Kernels kernels;
        const char* source;
        const char* date;
        bool read; // there; otherwise unverified

        constexpr double bits() const
        { return group_size > 0 ? element_bits + (scale_bits + zero_point_bits) / group_size : element_bits; }
    };

    inline constexpr const char* llama_cpp = "ggml-org/llama.cpp, tools/quantize/README.md: Llama-3.1-8B, whole model";

    // Words are positions: new formats go to the end.
    inline constexpr NumberFormat number_formats[] = {
        {"bf16", "bfloat16 fp16 f16 float16 half", 16, 0, 0, 0, Peak::bf16, Kernels::bf16, "definition", "", true},
        {"fp8",
         "float8 fp8-e4m3 fp8-tensor fp8-channel fp8-dynamic",
         8,
         0,
         0,
         0,
         Peak::fp8,
         Kernels::fp8,
         "definition",
         "",
         true},
        {"int8", "w8a8 int8-channel", 8, 0, 0, 0, Peak::int8, Kernels::fp8, "definition", "", true},
        {"fp4", "e2m1", 4, 0, 0, 0, Peak::fp4, Kernels::nvfp4, "definition, without scales", "", true},
        {"int4",
         "int4-g128 w4a16 u4 int4-sym",
         4,
         128,
         16,
         0,
         Peak::bf16,
         Kernels::int4,
         "compressed-tensors: 16-bit scale for 128",
         "2025",
         false},
        {"nvfp4",
         "fp4-g16",
         4,
         16,
         8,
         0,
         Peak::fp4,
         Kernels::nvfp4,
         "vllm-project/recipes, models/thinkingmachines/Inkling.yaml: groups of 16; 8-bit scale not verified",
         "2026-08",
         true},
        {"mxfp4",
         "fp4-g32 gguf-mxfp4 mxfp4-moe",
         4,
         32,
         8,
         0,
         Peak::fp4,
         Kernels::mxfp4,
         "InferenceX-app, blog on Vera Rubin: 4.25 bits a weight",
         "2026-07",
         true},
        {"fp8-block",
         "fp8-128x128 block-fp8 fp8-blockwise fp8-g128x128",
         8,
         16384,
         32,
         0,
         Peak::fp8,
         Kernels::fp8,
         "aiconfigurator-core 0.12.0 (Apache-2.0), config of DeepSeek-V3: blocks of 128 x 128; 32-bit scale not "
         "verified",
         "2026-09",
         true},
        {"fp8-block-e8m0",
         "fp8-block-ue8m0",
         8,
         16384,
         8,
         0,
         Peak::fp8,
         Kernels::fp8,
         "aiconfigurator-core 0.12.0 (Apache-2.0), config of DeepSeek-V4-Pro: scale_fmt ue8m0",
         "2026-09",
         true},
        {"mxfp8",
         "fp8-g32",
         8,
         32,
         8,
         0,
         Peak::fp8,
         Kernels::fp8,
         "OCP Microscaling Formats (MX) 1.0: 8-bit scale for 32",
         "2023-09",
         false},
        {"int4-g128-zp",
         "awq gptq int4-awq int4-gptq",
         4,
         128,
         16,
         4,
         Peak::bf16,
         Kernels::int4,
         "packing of AutoAWQ and GPTQ: 16-bit scale and 4-bit zero point for 128",
         "2024",
         false},
        {"int4-g64", "int4-g64-sym", 4, 64, 16, 0, Peak::bf16, Kernels::int4, "definition", "", true},
        {"int4-g64-zp", "", 4, 64, 16, 4, Peak::bf16, Kernels::int4, "definition", "", true},
        {"int4-g32",
         "int4-g32-sym",
         4,
         32,
         16,
         0,
         Peak::bf16,
         Kernels::int4,
         "vllm-project/recipes, gemma-4-31B-it.yaml; config of Kimi-K2.5 in aiconfigurator-core 0.12.0: groups of 32",
         "2026-08",
         true},
        {"nf4",
         "bnb-4bit bitsandbytes-4bit",
         4,
         64,
         8.125, // with a 32-bit scale of 256 scales
         0,
         Peak::bf16,
         Kernels::int4,
         "QLoRA, arXiv:2305.14314: double quantization, 0.127 bits a weight",
         "2023-05",
         false},
        {"Q8_0",
         "gguf-q8_0",
         8,
         32,
         16,
         0,
         Peak::bf16,
         Kernels::fp8,
         "ggml: 16-bit scale for 32; ggml-org/llama.cpp, tools/quantize/README.md: 8.5008 bits",
         "2025-11",
         true},
        {"Q6_K", "gguf-q6_k", 6.5633, 0, 0, 0, Peak::bf16, Kernels::fp8, llama_cpp, "2025-11", true},
        {"Q5_K_M", "gguf-q5_k_m q5_k", 5.7036, 0, 0, 0, Peak::bf16, Kernels::fp8, llama_cpp, "2025-11", true},
        {"Q5_K_S", "gguf-q5_k_s", 5.5704, 0, 0, 0, Peak::bf16, Kernels::fp8, llama_cpp, "2025-11", true},
        {"Q4_K_M", "gguf-q4_k_m q4_k", 4.8944, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"Q4_K_S", "gguf-q4_k_s", 4.6672, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"Q4_0", "gguf-q4_0", 4, 32, 16, 0, Peak::bf16, Kernels::int4, "ggml: 16-bit scale for 32", "2026", false},
        {"IQ4_NL", "gguf-iq4_nl", 4.6818, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"IQ4_XS", "gguf-iq4_xs", 4.4597, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"Q3_K_L", "gguf-q3_k_l", 4.2979, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"Q3_K_S", "gguf-q3_k_s", 3.6429, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"IQ3_XXS", "gguf-iq3_xxs", 3.2548, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"Q2_K", "gguf-q2_k", 3.1593, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
        {"IQ2_XXS", "gguf-iq2_xxs", 2.3824, 0, 0, 0, Peak::bf16, Kernels::int4, llama_cpp, "2025-11", true},
    };
    inline constexpr int all_formats = int(std::size(number_formats));
    inline constexpr int plain_formats = 7; // the first, also formats of a KV cache and of products

    // A choice of the first so many formats, after other words.
    template <int formats, class... First> constexpr Spec one_of_formats(const Spec& of, First... first)
    {
        static_assert(sizeof...(First) + formats <= most_choices);
        Spec spec = of.range(0, double(sizeof...(First)) + formats - 1);
        spec.choices = {first...};
        for (int k = 0; k < formats; ++k)
            spec.choices[sizeof...(First) + std::size_t(k)] = number_formats[k].name;
        return spec;
    }

    // Of the first so many formats the value of its entry; `first`: the position of bf16 among the words of the
    // choice. An entry whose value is the usual one is not asked for.
    template <int formats, class T, class Of, class IsUsual> constexpr number_of<T> by_format(
        const T& format,
        int first,
        const Of& value_of,
        const IsUsual& is_usual,
        const number_of<T>& usual)
    {
        number_of<T> result = usual;
        for (int k = formats - 1; k >= 0; --k)
            if (!is_usual(number_formats[k]))
                result = select(format == number_of<T>(double(first + k)), value_of(number_formats[k]), result);
        return result;
    }
    // Bits of an element, scales and zero points included.
    template <class T, int formats = all_formats> constexpr number_of<T> bits_of(const T& format, int first = 0)
    {
        using N = number_of<T>;
        const auto value_of = [](const NumberFormat& f) { return N(f.bits()); };
        const auto is_last = [](const NumberFormat& f) { return &f == &number_formats[formats - 1]; };
        return by_format<formats>(format, first, value_of, is_last, value_of(number_formats[formats - 1]));
    }
    // Of the peak that a format is multiplied at.
    template <class T, int formats = all_formats, class N = number_of<T>> constexpr N by_peak(
        const T& format,
        int first,
        const std::common_type_t<N>& b16,
        const std::common_type_t<N>& b8,
        const std::common_type_t<N>& i8,
        const std::common_type_t<N>& b4)
    {
        return by_format<formats>(
            format,
            first,
            [&](const NumberFormat& f) {
                return f.peak == Peak::fp8 ? b8 : f.peak == Peak::int8 ? i8 : b4;
            },
            [](const NumberFormat& f) { return f.peak == Peak::bf16; },
            b16);
    }
    // Of the rows of the kernel table that hold for a format.
    template <class T, class N = number_of<T>> constexpr N by_kernels(
        const T& format,
        int first,
        const std::common_type_t<N>& b16,
        const std::common_type_t<N>& b8,
        const std::common_type_t<N>& nv,
        const std::common_type_t<N>& mx,
        const std::common_type_t<N>& i4)
    {
        return by_format<all_formats>(
            format,
            first,
            [&](const NumberFormat& f) {
                return f.kernels == Kernels::bf16 ? b16
                    : f.kernels == Kernels::fp8   ? b8
                    : f.kernels == Kernels::nvfp4
                    ? nv
                    : mx;
            },
            [](const NumberFormat& f) { return f.kernels == Kernels::int4; },
            i4);
    }
}
