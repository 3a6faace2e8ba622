#pragma once
// Functions that make rows of the option table, one for each kind of value: a field of the configuration, a word, a
// bounded number, a list.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/options/options.hpp"

namespace onebit::experiments {

/// Return the parts of the table of run options.
std::vector<RunOption> run_size_options();
std::vector<RunOption> place_options();
std::vector<RunOption> log_options();
std::vector<RunOption> model_options();
std::vector<RunOption> hybrid_options();
std::vector<RunOption> data_options();
std::vector<RunOption> optimizer_options();
std::vector<RunOption> freeze_options();
std::vector<RunOption> schedule_options();
std::vector<RunOption> exchange_options();

[[noreturn]] void malformed(const std::string& option, const std::string& text, const std::string& wanted);

void parse_into(const std::string& option, const std::string& text, Index& value);
void parse_into(const std::string& option, const std::string& text, double& value);
void parse_into(const std::string& option, const std::string& text, bool& value);
void parse_into(const std::string& option, const std::string& text, std::string& value);
void parse_into(const std::string& option, const std::string& text, std::optional<double>& value);

std::string to_text(Index value);
std::string to_text(double value);
std::string to_text(bool value);
std::string to_text(const std::string& value);
std::string to_text(const std::optional<double>& value);

template <class Value>
constexpr ValueKind kind_of() {
  if (std::is_same_v<Value, bool>) return ValueKind::boolean;
  if (std::is_same_v<Value, Index>) return ValueKind::integer;
  return std::is_same_v<Value, std::string> ? ValueKind::text : ValueKind::real;
}

/// Returns the row with its kind of value set to `kind`.
template <class Config>
Option<Config> holding(ValueKind kind, Option<Config> row) {
  row.kind = kind;
  return row;
}

/// A function that returns a field of a configuration. Rows are made from pointers to such functions, so that their
/// templates are compiled once for each type of value and not for each option.
template <class Config, class Value>
using Field = Value& (*)(Config&);

/// Returns the lambda ONEBIT_PLACE(member) as a function.
template <class Config, class Place>
Field<Config, std::remove_reference_t<std::invoke_result_t<Place, Config&>>> as_field(Place place) {
  return place;
}

/// Returns the row of an option that sets a field of the configuration.
template <class Config, class Value>
Option<Config> field(const std::string& name, const std::string& help, Field<Config, Value> place) {
  Option<Config> row{name, help,
                     [name, place](Config& config, const std::string& text) { parse_into(name, text, place(config)); },
                     [place](const Config& config) { return to_text(place(const_cast<Config&>(config))); }};
  row.kind = kind_of<Value>();
  if (row.kind == ValueKind::boolean) row.words = [] { return std::vector<std::string>{"true", "false"}; };
  return row;
}

template <class Config = sim::RunConfig, class Place>
Option<Config> field(const std::string& name, const std::string& help, Place place) {
  return field(name, help, as_field<Config>(place));
}

/// Returns the row with a short name added to it.
template <class Config>
Option<Config> also(const std::string& alias, Option<Config> row) {
  row.alias = alias;
  return row;
}

/// Returns the names of a registry's entries.
template <class Entries>
std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

/// Returns the row of an option that takes names; `words` returns them.
template <class Config, class Words>
Option<Config> named(Option<Config> row, Words words) {
  row.words = words;
  return row;
}

/// Returns the rows under a heading of the help.
template <class Config>
std::vector<Option<Config>> grouped(const std::string& heading, std::vector<Option<Config>> rows) {
  for (Option<Config>& row : rows) row.group = heading;
  return rows;
}

/// Returns the row of an option that takes no value on the command line.
template <class Config, class Place>
Option<Config> flag(const std::string& name, const std::string& help, Place place) {
  Option<Config> row = field<Config>(name, help, place);
  row.is_flag = true;
  row.words = {};
  return row;
}

/// Returns the row of an option that may be given several times. replaces: see Option.
template <class Config, class Value>
Option<Config> repeated(const std::string& name, const std::string& help, Field<Config, Value> place,
                        const std::string& replaces) {
  Option<Config> row{name, help + "; repeatable",
                     [place](Config& config, const std::string& text) { place(config).push_back(text); },
                     [](const Config&) { return std::string(); }};
  row.replaces = replaces;
  return holding(ValueKind::repeated, row);
}

template <class Config, class Place>
Option<Config> repeated(const std::string& name, const std::string& help, Place place,
                        const std::string& replaces = {}) {
  return repeated(name, help, as_field<Config>(place), replaces);
}

/// Returns the row of an option whose value is one of a fixed set of words.
template <class Config, class Value>
Option<Config> choice(const std::string& name, const std::string& help, Field<Config, Value> place,
                      const std::map<std::string, Value>& words) {
  std::string wanted;
  for (const auto& [word, value] : words) wanted += (wanted.empty() ? "" : ", ") + word;
  const auto all = [words] {
    std::vector<std::string> names;
    for (const auto& [word, value] : words) names.push_back(word);
    return names;
  };
  Option<Config> row{name, help + " (" + wanted + ")",
                     [name, place, words, wanted](Config& config, const std::string& text) {
                       const auto found = words.find(text);
                       if (found == words.end()) malformed(name, text, wanted);
                       place(config) = found->second;
                     },
                     [place, words](const Config& config) {
                       for (const auto& [word, value] : words) {
                         if (place(const_cast<Config&>(config)) == value) return word;
                       }
                       return std::string();
                     }};
  return named(row, all);
}

template <class Config = sim::RunConfig, class Place, class Value>
Option<Config> choice(const std::string& name, const std::string& help, Place place,
                      const std::map<std::string, Value>& words) {
  return choice(name, help, as_field<Config>(place), words);
}

/// Returns the row of a text option that takes one of a few words.
template <class Config = sim::RunConfig, class Place>
Option<Config> word(const std::string& name, const std::string& help, Place place,
                    const std::vector<std::string>& words) {
  std::map<std::string, std::string> values;
  for (const std::string& each : words) values.emplace(each, each);
  return choice<Config>(name, help, place, values);
}

/// Returns the row of a quantity with a unit (netmodel/wire/units.hpp), parsed by `parse`.
template <class Config, class Value>
Option<Config> quantity(const std::string& name, const std::string& help, Field<Config, Value> place,
                        double (*parse)(const std::string&, const std::string&)) {
  return holding<Config>(
      ValueKind::real,
      {name, help,
       [name, place, parse](Config& config, const std::string& text) { place(config).value = parse(name, text); },
       [place](const Config& config) { return to_text(place(const_cast<Config&>(config)).value); }});
}

template <class Config, class Place>
Option<Config> quantity(const std::string& name, const std::string& help, Place place,
                        double (*parse)(const std::string&, const std::string&)) {
  return quantity(name, help, as_field<Config>(place), parse);
}

/// Returns the row of a whole number from low to high.
template <class Config, class Value>
Option<Config> between(const std::string& name, const std::string& help, Index low, Index high,
                       Field<Config, Value> place) {
  return holding<Config>(
      ValueKind::integer,
      {name, help,
       [name, low, high, place](Config& config, const std::string& text) {
         const Index value = parse_integer(name, text);
         if (value < low || value > high) {
           throw ConfigError("option out of range", name + " " + text,
                             "from " + std::to_string(low) + " to " + std::to_string(high));
         }
         place(config) = static_cast<Value>(value);
       },
       [place](const Config& config) { return std::to_string(place(const_cast<Config&>(config))); }});
}

template <class Config = sim::RunConfig, class Place>
Option<Config> between(const std::string& name, const std::string& help, Index low, Index high, Place place) {
  return between(name, help, low, high, as_field<Config>(place));
}

/// Returns the row of an option that takes a whole number from 0 to high, for a field that is narrower than Index.
template <class Config = sim::RunConfig, class Place>
Option<Config> bounded(const std::string& name, const std::string& help, Index high, Place place) {
  return between<Config>(name, help, 0, high, place);
}

/// Returns the row of a list of strings separated by commas. items: what they are, for error messages.
template <class Config, class Value>
Option<Config> list(const std::string& name, const std::string& help, const std::string& items,
                    Field<Config, Value> place) {
  return holding<Config>(ValueKind::texts,
                         {name, help,
                          [name, items, place](Config& config, const std::string& text) {
                            if (text.ends_with(',')) malformed(name, text, items + " separated by single commas");
                            place(config) = split(text, ',');
                            for (const std::string& item : place(config)) {
                              if (item.empty()) malformed(name, text, items + " separated by single commas");
                            }
                          },
                          [place](const Config& config) { return join(place(const_cast<Config&>(config)), ","); }});
}

template <class Config = sim::RunConfig, class Place>
Option<Config> list(const std::string& name, const std::string& help, const std::string& items, Place place) {
  return list(name, help, items, as_field<Config>(place));
}

/// Returns the row of a list of whole numbers separated by commas.
template <class Config, class Value>
Option<Config> integers(const std::string& name, const std::string& help, Field<Config, Value> place) {
  return holding<Config>(ValueKind::integers, {name, help,
                                               [name, place](Config& config, const std::string& text) {
                                                 if (text.ends_with(',')) malformed(name, text, "no comma at the end");
                                                 place(config).clear();
                                                 for (const std::string& item : split(text, ','))
                                                   place(config).push_back(parse_integer(name, item));
                                               },
                                               [place](const Config& config) {
                                                 std::vector<std::string> items;
                                                 for (const Index value : place(const_cast<Config&>(config)))
                                                   items.push_back(std::to_string(value));
                                                 return join(items, ",");
                                               }});
}

template <class Config, class Place>
Option<Config> integers(const std::string& name, const std::string& help, Place place) {
  return integers(name, help, as_field<Config>(place));
}

/// Returns the rows of all parts, in order.
template <class Config>
std::vector<Option<Config>> joined(const std::vector<std::vector<Option<Config>>>& parts) {
  std::vector<Option<Config>> all;
  for (const std::vector<Option<Config>>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

#define ONEBIT_PLACE(member)  \
  [](auto& config) -> auto& { \
    return config.member;     \
  }

/// Returns the row with a name. For an unknown name, throws ConfigError with the nearest one; `where` precedes the name
/// in the message.
template <class Table>
const auto& option_in(const Table& table, const std::string& name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const auto& option : table) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  throw ConfigError("unknown option", where + name, suggestion(name, names));
}

}  // namespace onebit::experiments
