/* The one C++ file: toml++ in, flat data out. Compiled without its exceptions, and with NDEBUG: some wrong texts reach an assert. */
#include "core/toml.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace
{

/* ---- Before the parser --------------------------------------------------------------------------------------------------- */

/* Behind a string that begins at `at`. One that is not closed ends with the line where it must, else with the text. */
size_t skip_short_string(std::string_view text, size_t at)
{
	const char quote = text[at];
	size_t i;

	for (i = at + 1; i < text.size() && text[i] != '\n'; i++) {
		if (text[i] == '\\' && quote == '"')
			i++;
		else if (text[i] == quote)
			return i + 1;
	}
	return std::min(i, text.size());
}

size_t skip_long_string(std::string_view text, size_t at)
{
	const std::string_view quotes = text.substr(at, 3);
	size_t i;

	for (i = at + 3; i < text.size(); i++) {
		if (text[i] == '\\' && quotes[0] == '"') {
			i++;
		} else if (text.substr(i, 3) == quotes) {
			/* Up to two more quotes are the string's own last characters. */
			for (i += 3, at = i + 2; i < at && i < text.size() && text[i] == quotes[0];)
				i++;
			return i;
		}
	}
	return text.size();
}

size_t skip_string(std::string_view text, size_t at)
{
	const std::string_view opening = text.substr(at, 3);

	return opening == "\"\"\"" || opening == "'''" ? skip_long_string(text, at) : skip_short_string(text, at);
}

/* Dots that may be a key's: neither in a string nor in a comment. Those of floats are counted with them. */
size_t count_dots(std::string_view text)
{
	size_t count = 0, i = 0;

	while (i < text.size()) {
		if (text[i] == '#')
			i = std::min(text.find('\n', i), text.size());
		else if (text[i] == '"' || text[i] == '\'')
			i = skip_string(text, i);
		else
			count += text[i++] == '.';
	}
	return count;
}

/* ---- After it -------------------------------------------------------------------------------------------------------------- */

std::string spell(const toml::date &date)
{
	char text[40];

	snprintf(text, sizeof(text), "%04u-%02u-%02u", static_cast<unsigned>(date.year), static_cast<unsigned>(date.month),
		 static_cast<unsigned>(date.day));
	return text;
}

std::string spell(const toml::time &time)
{
	char text[40];
	int size;

	size = snprintf(text, sizeof(text), "%02u:%02u:%02u", static_cast<unsigned>(time.hour),
			static_cast<unsigned>(time.minute), static_cast<unsigned>(time.second));
	if (time.nanosecond == 0)
		return text;
	snprintf(text + size, sizeof(text) - static_cast<size_t>(size), ".%09u", static_cast<unsigned>(time.nanosecond));
	for (size = static_cast<int>(strlen(text)); text[size - 1] == '0'; size--)
		text[size - 1] = '\0';
	return text;
}

std::string spell(const toml::date_time &both)
{
	std::string text = spell(both.date) + "T" + spell(both.time);
	char offset[20];
	int minutes;

	if (!both.offset)
		return text;
	minutes = both.offset->minutes;
	if (minutes == 0)
		return text + "Z";
	snprintf(offset, sizeof(offset), "%c%02d:%02d", minutes < 0 ? '-' : '+', std::abs(minutes) / 60,
		 std::abs(minutes) % 60);
	return text + offset;
}

struct flat {
	std::vector<pc_toml_item> items;
	std::string text;
	uint32_t too_deep_line;
};

void put(flat &to, std::string_view bytes, uint32_t &at, uint32_t &size)
{
	at = static_cast<uint32_t>(to.text.size());
	size = static_cast<uint32_t>(bytes.size());
	to.text.append(bytes);
}

void put_text(flat &to, pc_toml_item &item, pc_toml_kind kind, std::string_view bytes)
{
	item.kind = kind;
	put(to, bytes, item.value, item.value_size);
}

void fill(flat &to, pc_toml_item &item, const toml::node &node)
{
	if (const auto *table = node.as_table()) {
		item.kind = PC_TOML_TABLE;
		item.count = static_cast<uint32_t>(table->size());
	} else if (const auto *array = node.as_array()) {
		item.kind = PC_TOML_ARRAY;
		item.count = static_cast<uint32_t>(array->size());
	} else if (const auto *string = node.as_string()) {
		put_text(to, item, PC_TOML_STRING, string->get());
	} else if (const auto *integer = node.as_integer()) {
		item.kind = PC_TOML_INTEGER;
		item.integer = integer->get();
	} else if (const auto *number = node.as_floating_point()) {
		item.kind = PC_TOML_FLOAT;
		item.number = number->get();
	} else if (const auto *boolean = node.as_boolean()) {
		item.kind = PC_TOML_BOOLEAN;
		item.integer = boolean->get();
	} else if (const auto *both = node.as_date_time()) {
		put_text(to, item, both->get().offset ? PC_TOML_DATETIME : PC_TOML_DATETIME_LOCAL, spell(both->get()));
	} else if (const auto *date = node.as_date()) {
		put_text(to, item, PC_TOML_DATE_LOCAL, spell(date->get()));
	} else if (const auto *time = node.as_time()) {
		put_text(to, item, PC_TOML_TIME_LOCAL, spell(time->get()));
	}
}

uint32_t line_of(const toml::source_region &source, uint32_t absent)
{
	return source.begin.line ? source.begin.line : absent;
}

/* As deep as PC_TOML_MAX_DEPTH. */
void add(flat &to, const toml::node &node, uint32_t line, const toml::key *key, unsigned depth) /* NOLINT(misc-no-recursion) */
{
	pc_toml_item item = {};

	if (depth > PC_TOML_MAX_DEPTH) {
		to.too_deep_line = to.too_deep_line ? to.too_deep_line : line;
		return;
	}
	item.line = line;
	if (key)
		put(to, key->str(), item.key, item.key_size);
	fill(to, item, node);
	to.items.push_back(item);
	if (const auto *table = node.as_table()) {
		for (const auto &[name, child] : *table)
			add(to, child, line_of(name.source(), line), &name, depth + 1);
	} else if (const auto *array = node.as_array()) {
		for (const auto &child : *array)
			add(to, child, line_of(child.source(), line), nullptr, depth + 1);
	}
}

int refuse(pc_toml_error *error, uint32_t line, uint32_t column, std::string_view message)
{
	error->line = line;
	error->column = column;
	snprintf(error->message, sizeof(error->message), "%.*s", static_cast<int>(message.size()), message.data());
	return -EINVAL;
}

int copy_out(const flat &from, pc_toml *document)
{
	const size_t bytes = from.items.size() * sizeof(pc_toml_item);

	document->items = static_cast<pc_toml_item *>(malloc(bytes));
	document->text = static_cast<char *>(malloc(from.text.size() + 1));
	if (!document->items || !document->text) {
		pc_toml_free(document);
		return -ENOMEM;
	}
	memcpy(document->items, from.items.data(), bytes);
	memcpy(document->text, from.text.c_str(), from.text.size() + 1);
	document->count = from.items.size();
	return 0;
}

int parse(std::string_view text, pc_toml *document, pc_toml_error *error)
{
	toml::parse_result result = toml::parse(text);
	flat made = {};

	if (!result) {
		const toml::source_position at = result.error().source().begin;

		return refuse(error, at.line, at.column, result.error().description());
	}
	add(made, result.table(), 1, nullptr, 0);
	if (made.too_deep_line)
		return refuse(error, made.too_deep_line, 0, "nested too deeply");
	return copy_out(made, document);
}

} // namespace

int pc_toml_parse(const char *text, size_t size, pc_toml *document, pc_toml_error *error)
{
	*document = {};
	*error = {};
	if (size > PC_TOML_MAX_BYTES)
		return -E2BIG;
	/* The standard library's own: for want of memory. A caller in C could not catch it. */
	try {
		if (count_dots({ text, size }) > PC_TOML_MAX_DOTS)
			return refuse(error, 0, 0, "too many dots outside of strings");
		return parse({ text, size }, document, error);
	} catch (...) {
		return -ENOMEM;
	}
}

void pc_toml_free(pc_toml *document)
{
	free(document->items);
	free(document->text);
	*document = {};
}
