// SPDX-License-Identifier: GPL-2.0-only
// What libfmt has in its library beside its headers, for tools that are linked statically where that
// library is there as a shared one only. fmt/format-inl.h defines the functions; the templates that
// fmt/format.h declares as "extern template" are made here. configure tries whether this
// is right for the libfmt at hand.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float number) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double number) noexcept;
template locale_ref::locale_ref(const std::locale& locale);
template std::locale locale_ref::get<std::locale>() const;
template thousands_sep_result<char> thousands_sep_impl(locale_ref locale);
template char decimal_point_impl(locale_ref locale);
template void buffer<char>::append(const char* begin, const char* end);
template void vformat_to(buffer<char>& out, string_view format, basic_format_args<format_context> arguments,
                         locale_ref locale);

}  // namespace detail
FMT_END_NAMESPACE
