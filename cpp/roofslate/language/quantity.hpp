// Declarations of quantities, and properties derived from a declaration.
#pragma once
#include "roofslate/language/expr.hpp"
#include "roofslate/language/math.hpp"
#include "roofslate/language/unit.hpp"
#include <array>
#include <cfloat>
#include <string_view>
#include <type_traits>
#include <utility>

namespace roofslate
{
    inline constexpr double infinite = HUGE_VAL; // as upper end of a range: infinity itself is allowed

    // A quantity's name, read off its type.
    template <class Q> constexpr std::string_view name_of()
    {
        std::string_view f =
            __PRETTY_FUNCTION__; // "... [with Q = roofslate::quantities::batch_size; ...]", clang: "[Q = ...]"
        f.remove_prefix(f.find("Q = ") + 4);
        f = f.substr(0, f.find_first_of(";]"));
        return f.substr(f.rfind(':') + 1);
    }

    struct Spec
    {
        const char* symbol; // LaTeX
        const char* unit;
        const char* brief;
        const char* source;
        double low = -DBL_MAX, high = DBL_MAX;
        bool above_low = false; // the lower end itself is excluded
        bool has_default = false;
        double default_value = 0;
        bool has_ideal = false; // a term of a real machine, which this value takes away
        double ideal_value = 0;
        Choices choices{};
        const char* missing_advice = nullptr; // ends the error for a missing input of it
        std::string_view fallback{}; // the quantity it comes from when it is not supplied
        std::array<std::string_view, 4> implied_by{}; // if one of these is supplied, the default is another
        std::array<double, 4> implied_value{};              // of each
        std::string_view bound{};                        // the input that it must not exceed
        std::string_view replaced_by{}; // the quantity whose value it takes where one of these is supplied:
        std::array<std::string_view, 2> replaced_where{};
        std::array<std::string_view, 2> replaced_unless{}; // and none of these
        std::string_view target{};    // the quantity whose value it is where another one is changed
        std::string_view changed{};   // that other one
        std::string_view changed_to{}; // and what it is there; empty: changed_value
        double changed_value = 0;

        constexpr Spec(const char* tex, const char* measured_in, const char* meaning, const char* reference)
            : symbol(tex), unit(measured_in), brief(meaning), source(reference)
        {
        }
        constexpr Spec range(double lowest, double highest = DBL_MAX) const
        {
            Spec s = *this;
            s.low = lowest, s.high = highest;
            return s;
        }
        constexpr Spec positive(double highest = DBL_MAX) const
        {
            Spec s = range(0, highest);
            s.above_low = true;
            return s;
        }
        constexpr Spec by_default(double value) const
        {
            Spec s = *this;
            s.default_value = value, s.has_default = true;
            return s;
        }
        constexpr Spec advice(const char* text) const
        {
            Spec s = *this;
            s.missing_advice = text;
            return s;
        }
        // The value at which a machine is the ideal one of the lecture.
        constexpr Spec ideal(double value) const
        {
            Spec s = *this;
            s.ideal_value = value, s.has_ideal = true;
            return s;
        }
        template <class... Names> constexpr Spec one_of(Names... names) const
        {
            static_assert(sizeof...(Names) <= most_choices);
            Spec s = range(0, double(sizeof...(Names)) - 1);
            s.choices = {names...};
            return s;
        }
        template <class Q> constexpr Spec otherwise() const
        {
            Spec s = *this;
            s.fallback = name_of<Q>();
            return s;
        }
        // Another default where one of these quantities is supplied; of several that are, the first named decides.
        template <class... Q> constexpr Spec implied_by_any(double value) const
        {
            Spec s = *this;
            std::size_t n = 0;
            while (!s.implied_by[n].empty())
                ++n;
            ((s.implied_by[n] = name_of<Q>(), s.implied_value[n++] = value), ...);
            return s;
        }
        template <class Q> constexpr Spec at_most() const
        {
            Spec s = *this;
            s.bound = name_of<Q>();
            return s;
        }
        // At a rate of arrivals another quantity says what it is:
        // replaced_by_where<loaded_running_sequences, arrival_rate>().unless_given<batch_size, pass_tokens>().
        template <class Q, class... Given> constexpr Spec replaced_by_where() const
        {
            Spec s = *this;
            s.replaced_by = name_of<Q>(), s.replaced_where = {name_of<Given>()...};
            return s;
        }
        template <class... Q> constexpr Spec unless_given() const
        {
            Spec s = *this;
            s.replaced_unless = {name_of<Q>()...};
            return s;
        }
        // The value of another quantity where one that it rests on is replaced:
        // value_of<round_time>().where<batch_size, full_batch>(). In the rest of its inputs nothing changes.
        template <class Q> constexpr Spec value_of() const
        {
            Spec s = *this;
            s.target = name_of<Q>();
            return s;
        }
        template <class Changed, class To> constexpr Spec where() const
        {
            Spec s = *this;
            s.changed = name_of<Changed>(), s.changed_to = name_of<To>();
            return s;
        }
        template <class Changed> constexpr Spec where(double value) const
        {
            Spec s = *this;
            s.changed = name_of<Changed>(), s.changed_value = value;
            return s;
        }
        constexpr bool declares_range() const { return !is_choice() && (low != -DBL_MAX || high != DBL_MAX); }
        constexpr bool is_choice() const { return choices[0] != nullptr; }
        constexpr bool admits(double x) const { return x >= low && x <= high && !(above_low && x == low); }
    };

    template <class... Q> struct list
    {
    };

    // `in<batch_size, T> B` declares an argument B of number type T that is the quantity batch_size.
    struct Need // asked with this type, the argument's type is the quantity itself
    {
    };
    // On units an argument is of its quantity's own type: a formula that calls another one with swapped arguments does
    // not compile. Numbers and expressions remain what they are.
    template <class Q> struct Argument : Dimension
    {
        constexpr explicit Argument(const Dimension& dimension) : Dimension(dimension) {}
    };
    template <class Q, class T> struct in_type
    {
        using type = T;
    };
    template <class Q> struct in_type<Q, Need>
    {
        using type = Q;
    };
    template <class Q> struct in_type<Q, Dimension>
    {
        using type = Argument<Q>;
    };
    template <class Q, class T> using in = typename in_type<Q, T>::type;
    // The number type of a value: on units an argument is a Dimension.
    template <class T> using number_of = std::conditional_t<std::is_base_of_v<Dimension, T>, Dimension, T>;

    // What a formula gives to another one in the place of a quantity, in the unit of that:
    // pass_time::formula<T>(o, as<compute_time>(t_c + t_p), t_w, t_kv, as<memory_time>(t_w + t_kv)).
    template <class Q, class T> constexpr in<Q, number_of<T>> as(const T& value)
    {
        if constexpr (std::is_base_of_v<Dimension, T>)
        {
            const Dimension expected = unit(Q::spec.unit);
            Argument<Q> argument(value);
            argument.mixed = (value + expected).mixed;
            return argument;
        }
        else
            return value;
    }

    template <class F> struct signature;
    template <class... Q> struct signature<Need (*)(Q...)>
    {
        using needs = list<Q...>;
    };
    template <class Q, class = void> struct formula_of
    {
        using needs = list<>;
        static constexpr bool exists = false;
    };
    template <class Q> struct formula_of<Q, std::void_t<decltype(&Q::template formula<Need>)>>
    {
        using needs = typename signature<decltype(&Q::template formula<Need>)>::needs;
        static constexpr bool exists = true;
    };
    // A routine in a formula: a struct with value(...) on doubles, dimension(...) on units, a name and its LaTeX. It
    // can be differentiated where it has `partials`: a list with a routine for each argument, or no_partial; it has
    // bounds where it has `directions`, 1 or -1 for each argument: it never falls or never rises with it, or else
    // enclosure(...), which gives the ends of its value by Limits<T> of its arguments. Below `least` of an argument,
    // where it has that, it is NaN. A slow one says how many `operations` take as long.
    struct no_partial
    {
    };
    template <class T> struct Limits
    {
        T low, high;
    };
    template <class R> struct as_routine;
    template <class P> constexpr const Routine* partial_of()
    {
        if constexpr (std::is_same_v<P, no_partial>)
            return nullptr;
        else
            return &as_routine<P>::entry;
    }
    template <class Partials> struct partials_in;
    template <class... P> struct partials_in<list<P...>>
    {
        static constexpr std::array<const Routine*, 3> all{partial_of<P>()...};
    };
    template <class R, class = void> struct partials_of : partials_in<list<>>
    {
    };
    template <class R> struct partials_of<R, std::void_t<typename R::partials>> : partials_in<typename R::partials>
    {
    };
    template <class R, class = void> struct directions_of
    {
        static constexpr std::array<signed char, 3> all{};
    };
    template <class R> struct directions_of<R, std::void_t<decltype(R::directions)>>
    {
        static constexpr std::array<signed char, 3> all = R::directions;
    };
    template <class R, class = void> struct least_of
    {
        static constexpr std::array<double, 3> all{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
    };
    template <class R> struct least_of<R, std::void_t<decltype(R::least)>>
    {
        static constexpr std::array<double, 3> all = R::least;
    };
    template <class R, class = void> struct enclosure_of
    {
        static constexpr const Enclosure& (*entry)() = nullptr;
    };
    template <class R> struct enclosure_of<R, std::void_t<decltype(&R::template enclosure<Expr>)>>
    {
        template <std::size_t... K> static Enclosure record(std::index_sequence<K...>)
        {
            Enclosure e;
            const Limits<Expr> arguments[]{{Expr::input(e.tape, 2 * int(K)), Expr::input(e.tape, 2 * int(K) + 1)}...};
            const Limits<Expr> ends = R::template enclosure<Expr>(arguments[K]...);
            e.low = ends.low.on(e.tape), e.high = ends.high.on(e.tape);
            return e;
        }
        static const Enclosure& get()
        {
            static const Enclosure recorded = record(std::make_index_sequence<std::size_t(R::arity)>{});
            return recorded;
        }
        static constexpr const Enclosure& (*entry)() = &get;
    };
    template <class R, class = void> struct operations_of
    {
        static constexpr double all = Routine{}.operations;
    };
    template <class R> struct operations_of<R, std::void_t<decltype(R::operations)>>
    {
        static constexpr double all = R::operations;
    };
    template <class R> struct as_routine
    {
        template <std::size_t... K> static double call(const double* a, std::index_sequence<K...>)
        { return R::value(a[K]...); }
        static double value(const double* a) { return call(a, std::make_index_sequence<std::size_t(R::arity)>{}); }
        static constexpr Routine entry{
            R::name,
            R::latex,
            R::arity,
            &value,
            partials_of<R>::all,
            directions_of<R>::all,
            least_of<R>::all,
            enclosure_of<R>::entry,
            operations_of<R>::all};
    };
    template <class R, class... T> constexpr auto routine(const T&... arguments)
    {
        using Number = std::common_type_t<number_of<T>...>;
        if constexpr (std::is_same_v<Number, Dimension>)
            return R::dimension(arguments...);
        else if constexpr (std::is_same_v<Number, Expr>)
            return Expr::apply(Op::routine, &as_routine<R>::entry, Expr::Arguments{{&arguments...}}, R::arity);
        else
            return R::value(arguments...);
    }

    // --- units, proved at compile time ---

    template <class Quantity, class Declared, class Found, bool equal> struct unit_of_formula
    {
        static_assert(
            equal,
            "the formula has another unit than the quantity declares: see Quantity, Declared and Found");
        static constexpr bool proved = equal;
    };
    template <class Quantity, bool pure> struct units_inside_formula
    {
        static_assert(
            pure,
            "the formula adds, compares or chooses between unlike units, takes a power, exp or log of one, or gives "
            "another formula a value of another unit: see Quantity");
        static constexpr bool proved = pure;
    };
    namespace detail
    {
        template <class Q, class Needs> struct formula_on_units;
        template <class Q, class... Needs> struct formula_on_units<Q, list<Needs...>>
        {
            static constexpr Dimension result =
                Q::template formula<Dimension>(Argument<Needs>(roofslate::unit(Needs::spec.unit))...);
        };
        template <class Q> struct declared_halves
        {
            static constexpr int halves(std::size_t i) { return roofslate::unit(Q::spec.unit).halves[i]; }
        };
        template <class Q> struct found_halves
        {
            static constexpr int halves(std::size_t i)
            { return formula_on_units<Q, typename formula_of<Q>::needs>::result.halves[i]; }
        };
    }
    template <class Q> constexpr bool check_unit()
    {
        constexpr Dimension declared = roofslate::unit(Q::spec.unit);
        if constexpr (formula_of<Q>::exists)
        {
            constexpr Dimension computed = detail::formula_on_units<Q, typename formula_of<Q>::needs>::result;
            static_assert(units_inside_formula<Q, !computed.mixed>::proved);
            if constexpr (!computed.any && !same_unit(declared, computed))
                static_assert(
                    unit_of_formula<
                        Q,
                        typename spelled::build<detail::declared_halves<Q>>::type,
                        typename spelled::build<detail::found_halves<Q>>::type,
                        false>::proved);
        }
        return !declared.mixed;
    }
}

// Formulas find max, exp, select, ... here, whatever number type they run on.
namespace roofslate::quantities
{
    using namespace roofslate::math;

    // choose(overlap, board, serial_kv, none): the alternative at the position of the choice. The last one serves all
    // words that follow.
    template <class T, class... More> constexpr T choose_from(
        const T& choice,
        int position,
        const T& first,
        const More&... more)
    {
        if constexpr (sizeof...(More) == 0)
            return first;
        else
            return select(choice == T(double(position)), first, choose_from(choice, position + 1, more...));
    }
    template <class T, class... Alternatives> constexpr number_of<T> choose(
        const T& choice,
        const Alternatives&... alternatives)
    { return choose_from<number_of<T>>(choice, 0, number_of<T>(alternatives)...); }

    // A term that vanishes with its rate: for a constant zero rate, no amount is needed.
    template <class A, class B> constexpr auto spend(const A& rate, const B& amount)
    {
        using T = std::common_type_t<number_of<A>, number_of<B>>;
        return select(T(rate) == T(0.0), T(0.0), T(rate) * T(amount));
    }

    // A sum with such a term. Only the sum for a zero rate, and not sum + 0, which is an operation more.
    template <class S, class A, class B> constexpr auto spend_beside(const S& sum, const A& rate, const B& amount)
    {
        using T = std::common_type_t<number_of<S>, number_of<A>, number_of<B>>;
        return select(T(rate) == T(0.0), T(sum), T(sum) + T(rate) * T(amount));
    }

    // A sum with a term that may vanish as a whole.
    template <class S, class A> constexpr auto plus_optional(const S& sum, const A& term)
    {
        using T = std::common_type_t<number_of<S>, number_of<A>>;
        return select(T(term) == T(0.0), T(sum), T(sum) + T(term));
    }

    // is<overlap>(o, "serial_kv"): whether the choice has this word, which must be one of its words.
    template <class Q, class T> constexpr auto is(const T& choice, std::string_view word)
    {
        std::size_t position = 0;
        while (Q::spec.choices[position] != word)
            ++position;
        return choice == number_of<T>(double(position));
    }
}
