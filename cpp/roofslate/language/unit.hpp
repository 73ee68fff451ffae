// Dim: the unit of a value, as exponents of the nine base units. Formulas run on it at compile time.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace roofslate
{
    inline constexpr std::size_t base_unit_count = 9;
    inline constexpr std::array<std::string_view, base_unit_count>
        base_units{"FLOP", "byte", "token", "sequence", "parameter", "chip", "s", "USD", "J"};

    struct Dim
    {
        std::array<int, base_unit_count> halves{}; // exponents times two, so that a square root has a unit
        bool any = false;                          // the literals 0 and infinity fit every unit
        bool mixed = false;                        // unlike units were added, compared or chosen between

        constexpr Dim() = default;
        constexpr Dim(double literal) : any(literal == 0 || literal > 1e308 || literal < -1e308) {}
    };

    constexpr bool same_unit(const Dim& a, const Dim& b)
    {
        for (std::size_t i = 0; i < base_unit_count; ++i)
            if (a.halves[i] != b.halves[i])
                return false;
        return true;
    }

    namespace detail
    {
        constexpr Dim scaled(Dim a, int numerator, int denominator)
        {
            for (int& h : a.halves)
                h = h * numerator / denominator;
            return a;
        }
        constexpr Dim alike(const Dim& a, const Dim& b)
        {
            Dim r = a.any ? b : a;
            r.mixed = a.mixed || b.mixed || !(a.any || b.any || same_unit(a, b));
            return r;
        }
        constexpr Dim number(const Dim& a)
        {
            Dim r;
            r.mixed = a.mixed || !(a.any || same_unit(a, Dim{}));
            return r;
        }
    }

    constexpr Dim operator*(const Dim& a, const Dim& b)
    {
        Dim r = a;
        for (std::size_t i = 0; i < base_unit_count; ++i)
            r.halves[i] += b.halves[i];
        r.any = a.any || b.any;
        r.mixed = a.mixed || b.mixed;
        return r;
    }
    constexpr Dim operator/(const Dim& a, const Dim& b) { return a * detail::scaled(b, -1, 1); }
    constexpr Dim operator+(const Dim& a, const Dim& b) { return detail::alike(a, b); }
    constexpr Dim operator-(const Dim& a, const Dim& b) { return detail::alike(a, b); }
    constexpr Dim operator-(const Dim& a) { return a; }
    constexpr Dim min(const Dim& a, const Dim& b) { return detail::alike(a, b); }
    constexpr Dim max(const Dim& a, const Dim& b) { return detail::alike(a, b); }
    constexpr Dim sqrt(const Dim& a) { return detail::scaled(a, 1, 2); }
    constexpr Dim ceil(const Dim& a) { return a; }
    constexpr Dim floor(const Dim& a) { return a; }
    constexpr Dim exp(const Dim& a) { return detail::number(a); }
    constexpr Dim log(const Dim& a) { return detail::number(a); }
    constexpr Dim pow(const Dim& a, const Dim& b)
    {
        Dim r;
        r.mixed = detail::number(a).mixed || detail::number(b).mixed;
        return r;
    }
    // How many tokens, sequences, parameters or chips: a pure number.
    constexpr Dim count(const Dim& a)
    {
        Dim r = a;
        for (std::size_t i = 2; i <= 5; ++i)
            r.halves[i] = 0;
        return detail::number(r);
    }

    struct DimCondition
    { bool mixed; };
    namespace detail
    {
        constexpr DimCondition compared(const Dim& a, const Dim& b) { return {alike(a, b).mixed}; }
    }
    constexpr DimCondition operator<(const Dim& a, const Dim& b) { return detail::compared(a, b); }
    constexpr DimCondition operator<=(const Dim& a, const Dim& b) { return detail::compared(a, b); }
    constexpr DimCondition operator>(const Dim& a, const Dim& b) { return detail::compared(a, b); }
    constexpr DimCondition operator>=(const Dim& a, const Dim& b) { return detail::compared(a, b); }
    constexpr DimCondition operator==(const Dim& a, const Dim& b) { return detail::compared(a, b); }
    constexpr DimCondition operator&&(const DimCondition& a, const DimCondition& b) { return {a.mixed || b.mixed}; }
    constexpr DimCondition operator||(const DimCondition& a, const DimCondition& b) { return {a.mixed || b.mixed}; }
    constexpr Dim select(const DimCondition& c, const Dim& a, const Dim& b)
    {
        Dim r = detail::alike(a, b);
        r.mixed = r.mixed || c.mixed;
        return r;
    }

    // "USD/token", "FLOP/parameter/token", "byte*token", "1": read left to right.
    constexpr Dim unit(std::string_view text)
    {
        Dim r;
        int sign = 1;
        while (!text.empty())
        {
            if (text[0] == '/' || text[0] == '*')
            {
                sign = text[0] == '/' ? -1 : 1;
                text.remove_prefix(1);
                continue;
            }
            const std::string_view word = text.substr(0, text.find_first_of("/*"));
            bool known = word == "1";
            for (std::size_t i = 0; i < base_unit_count; ++i)
                if (base_units[i] == word)
                {
                    r.halves[i] += 2 * sign;
                    known = true;
                }
            if (!known)
                throw "this unit is not made of FLOP, byte, token, sequence, parameter, chip, s, USD, J";
            text.remove_prefix(word.size());
        }
        return r;
    }

    // A unit as a type, so that the compiler's message spells it: unit_of<per<USD, 1>, per<token, -1>>.
    namespace spelled
    {
        struct FLOP;
        struct byte;
        struct token;
        struct sequence;
        struct parameter;
        struct chip;
        struct s;
        struct USD;
        struct J;
        template <class BaseUnit, int Exponent> struct power;
        template <class BaseUnit, int Exponent> struct root; // half-integer exponents
        template <class... Powers> struct unit;

        template <
            class Unit,
            class BaseUnit,
            int Halves,
            bool Present = Halves != 0,
            bool Whole = Halves % 2 == 0> struct append;
        template <class... P, class B, int H, bool W> struct append<unit<P...>, B, H, false, W>
        {
            using type = unit<P...>;
        };
        template <class... P, class B, int H> struct append<unit<P...>, B, H, true, true>
        {
            using type = unit<P..., power<B, H / 2>>;
        };
        template <class... P, class B, int H> struct append<unit<P...>, B, H, true, false>
        {
            using type = unit<P..., root<B, H>>;
        };
        template <class Unit, int... Halves> struct build;
        template <class U, int a, int b, int c, int d, int e, int f, int g, int h, int i> struct build<
            U,
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            h,
            i>
        {
            template <class V, class B, int H> using add = typename append<V, B, H>::type;
            using type = add<
                add<add<add<add<add<add<add<add<U, FLOP, a>, byte, b>, token, c>, sequence, d>, parameter, e>, chip, f>,
                        s,
                        g>,
                    USD,
                    h>,
                J,
                i>;
        };
    }
}
