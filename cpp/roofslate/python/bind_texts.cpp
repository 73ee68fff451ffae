// The binding of columns of texts, which become positions among their distinct texts.
#include "roofslate/python/binding.hpp"
#include <array>
#include <cstdint>
#include <cstring>

namespace roofslate::binding
{
    namespace
    {
        // A text with its length and both ends in registers. They are all of a text of at most 16 bytes.
        struct Text
        {
            Text(const char* first, std::size_t length, std::size_t available) // bytes from the first to the end of all
                : data(first), size(length)
            {
                constexpr std::size_t word = sizeof(std::uint64_t);
                const std::size_t leading_bytes = std::min(size, word);
                if (available >= word) // one load, of which some bytes may be another text's
                {
                    const std::size_t last = std::max(size, word) - word;
                    std::memcpy(&start, data, word);
                    std::memcpy(&end, data + last, word);
                    start &= leading(leading_bytes);
                    end &= leading(leading_bytes);
                }
                else
                    std::memcpy(&start, data, leading_bytes), end = start;
            }
            bool operator==(const Text& other) const
            {
                return start == other.start && end == other.end && size == other.size
                    && (size <= 2 * sizeof(start) || std::memcmp(data, other.data, size) == 0);
            }

            const char* data;
            std::size_t size;
            std::uint64_t start = 0, end = 0;

        private:
            static std::uint64_t leading(std::size_t bytes) // of a word in memory
            {
                static constexpr unsigned char ones[2 * sizeof(std::uint64_t)] =
                    {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
                std::uint64_t mask;
                std::memcpy(&mask, ones + sizeof(mask) - bytes, sizeof(mask));
                return mask;
            }
        };

        // The distinct texts met so far, few enough for a table that never grows.
        class DistinctTexts
        {
        public:
            // The position of a text, or -1 for one too many, or where too many are alike at both ends. `row` is kept
            // with a new one.
            std::int32_t position(const Text& text, std::int64_t row)
            {
                std::size_t slot = hash(text);
                for (int tries = 0; slots_[slot] >= 0; slot = (slot + 1) % slots_.size())
                {
                    if (texts_[std::size_t(slots_[slot])] == text)
                        return slots_[slot];
                    if (++tries == longest_run)
                        return -1;
                }
                if (texts_.size() == most)
                    return -1;
                slots_[slot] = std::int32_t(texts_.size());
                texts_.push_back(text);
                rows_.push_back(row);
                return slots_[slot];
            }
            const std::vector<std::int64_t>& rows() const { return rows_; }

        private:
            static constexpr std::size_t most = 1024;
            static constexpr int bits = 12, longest_run = 16;
            static std::size_t hash(const Text& text)
            {
                const std::uint64_t ends = text.start ^ (text.end * 0x9E3779B97F4A7C15U) ^ text.size;
                return std::size_t((ends * 0xC2B2AE3D27D4EB4FU) >> (64 - bits));
            }

            std::array<std::int32_t, std::size_t(1) << bits> slots_ = [] {
                std::array<std::int32_t, std::size_t(1) << bits> empty{};
                empty.fill(-1);
                return empty;
            }();
            std::vector<Text> texts_;
            std::vector<std::int64_t> rows_; // the first of each text
        };

        // Texts as Arrow holds them: text k is the bytes from offset k to offset k + 1. Returns nothing for texts that
        // are too many or too alike.
        template <class Offset> py::object encode(
            const py::array& all,
            const py::array_t<std::uint8_t, py::array::c_style>& bytes)
        {
            const py::array_t<Offset, py::array::c_style> offsets(all);
            if (offsets.ndim() != 1 || offsets.size() < 1 || bytes.ndim() != 1)
                throw py::value_error("encode_texts: expected a list of offsets and a list of bytes");
            const py::ssize_t rows = offsets.size() - 1;
            const Offset* const from = offsets.data();
            const char* const text = reinterpret_cast<const char*>(bytes.data());
            Result codes = allocate<std::int32_t>({rows}, {1}, std::size_t(rows));
            auto* const code = static_cast<std::int32_t*>(codes.array.mutable_data());
            DistinctTexts known;
            bool is_valid = true, are_few = true;
            {
                const WithoutGil free;
                for (py::ssize_t k = 0; is_valid && are_few && k < rows; ++k)
                {
                    is_valid = from[k] >= 0 && from[k] <= from[k + 1] && py::ssize_t(from[k + 1]) <= bytes.size();
                    if (is_valid)
                    {
                        const auto first = std::size_t(from[k]);
                        const Text
                        one(text + first, std::size_t(from[k + 1]) - first, std::size_t(bytes.size()) - first);
                        code[k] = known.position(one, k);
                        are_few = code[k] >= 0;
                    }
                }
            }
            if (!is_valid)
                throw py::value_error("encode_texts: offsets must not decrease nor exceed the bytes");
            if (!are_few)
                return py::none();
            return py::make_tuple(codes.array, known.rows());
        }
    }

    void bind_texts(py::module_& m)
    {
        m.def(
            "encode_texts",
            [](const py::array& offsets, const py::array_t<std::uint8_t, py::array::c_style>& texts) {
                const bool are_short = offsets.dtype().equal(py::dtype::of<std::int32_t>());
                return are_short ? encode<std::int32_t>(offsets, texts) : encode<std::int64_t>(offsets, texts);
            },
            py::arg("offsets"),
            py::arg("texts"),
            "Positions of texts among the distinct ones, and the first row of each distinct text. "
            "None for texts that are too many or too alike.");
    }
}
