#include "query/filter.h"

#include "base/sqlite.h"
#include "base/text.h"
#include "query/filter_token.h"

static const char operator_expected[] = "eq, ne, gt, ge, lt or le";
static const char operand_expected[] = "a property, a constant, not or (";

typedef struct filter_parser {
    pt_filter *filter;
    pt_filter_lexer lexer;
    pt_filter_token token; /* the next one, not consumed yet */
    unsigned depth;
    unsigned property_capacity;
    pt_error *error;
} filter_parser;

/* One side of a comparison. */
typedef struct filter_operand {
    bool is_constant;
    pt_filter_token token;
} filter_operand;

/* On failure, a function that returns a node returns NULL, and others return false, with the
 * parser's error set. */
static pt_filter_node *parse_expression(filter_parser *parser);

/* --- Tokens --- */

static bool next_token(filter_parser *parser)
{
    return pt_filter_next_token(&parser->lexer, &parser->token, parser->error) == SQLITE_OK;
}

static bool is_word(const pt_filter_token *token, const char *word)
{
    return token->kind == PT_TOKEN_WORD && pt_slice_equal(token->text, pt_slice_text(word));
}

/* The index of the token among the words (NULL at the end), or -1. */
static int word_index(const pt_filter_token *token, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (is_word(token, words[i])) {
            return i;
        }
    }
    return -1;
}

/* In the order of pt_filter_op. */
static const char *const operators[] = {"eq", "ne", "gt", "ge", "lt", "le", NULL};
static const char *const arithmetic[] = {"add", "sub", "mul", "div", "mod", NULL};
static const char *const keywords[] = {"and", "or", "not",  "eq",    "ne",   "gt", "ge",
                                       "lt",  "le", "true", "false", "null", NULL};

static bool is_keyword(const pt_filter_token *token)
{
    return word_index(token, keywords) >= 0;
}

/* True for a keyword in the wrong case. */
static bool looks_like_keyword(const pt_filter_token *token)
{
    for (int i = 0; token->kind == PT_TOKEN_WORD && keywords[i] != NULL; i++) {
        if (pt_is_word(token->text, keywords[i])) {
            return !is_keyword(token);
        }
    }
    return false;
}

/* --- Errors --- */

static const char *hint_for(const pt_filter_token *token)
{
    if (looks_like_keyword(token)) {
        return "; keywords are lower-case";
    }
    bool quote = token->kind == PT_TOKEN_OTHER && token->text.data[0] == '"';
    return quote ? "; write a text between single quotes" : "";
}

/* The token is not what the grammar expects here. */
static void refuse_token(filter_parser *parser, const pt_filter_token *token, const char *expected)
{
    char found[PT_EXCERPT_SIZE] = "the end";
    if (token->kind != PT_TOKEN_END) {
        pt_excerpt(token->text, found);
    }
    pt_filter_syntax_error(&parser->lexer, token->text.data, parser->error, "expected %s, not %s%s",
                           expected, found, hint_for(token));
}

static void refuse_function(filter_parser *parser, const pt_filter_token *name)
{
    static const struct {
        const char *name;
        const char *instead;
    } known[] = {
        {"startswith", "RowKey ge 'x' and RowKey lt 'y', or SQL's pt_starts_with(RowKey, 'x')"},
        {"endswith", "a condition in SQL, such as Name GLOB '*x'"},
        {"substringof", "a condition in SQL, such as instr(Name, 'x')"},
        {"contains", "a condition in SQL, such as instr(Name, 'x')"},
        {"tolower", "a condition in SQL, such as lower(Name) = 'x'"},
        {"toupper", "a condition in SQL, such as upper(Name) = 'X'"},
    };
    const char *instead = "a condition in SQL beside the Filter";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        instead = is_word(name, known[i].name) ? known[i].instead : instead;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name->text, excerpt);
    pt_error_set(parser->error, SQLITE_ERROR,
                 "Filter: filters have no function %s(); use %s (NotImplemented)", excerpt,
                 instead);
}

static void refuse_arithmetic(filter_parser *parser)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(parser->token.text, excerpt);
    pt_error_set(
        parser->error, SQLITE_ERROR,
        "Filter: no arithmetic in a filter (%s); use a condition in SQL, such as Age + 1 > 30 "
        "(NotImplemented)",
        excerpt);
}

static void refuse_null(filter_parser *parser)
{
    pt_filter_syntax_error(
        &parser->lexer, parser->token.text.data, parser->error,
        "there is no null; to find entities without Age write not (Age ge '' or Age lt "
        "''), or Age IS NULL in SQL");
}

static bool is_special_number(const pt_filter_token *token)
{
    static const char *const names[] = {"NaN", "INF", "Infinity", NULL};
    return word_index(token, names) >= 0;
}

static void refuse_pair(filter_parser *parser, const filter_operand *left,
                        const filter_operand *right)
{
    if (!left->is_constant && looks_like_keyword(&right->token)) {
        refuse_token(parser, &right->token, "a constant");
        return;
    }
    char left_text[PT_EXCERPT_SIZE];
    char right_text[PT_EXCERPT_SIZE];
    pt_excerpt(left->token.text, left_text);
    pt_excerpt(right->token.text, right_text);
    const char *problem = "properties; use a condition in SQL";
    if (left->is_constant) {
        problem = "constants; one side must be a property";
    } else if (is_special_number(&left->token) || is_special_number(&right->token)) {
        problem = "properties, since there is no constant NaN or Infinity; use a condition in SQL, "
                  "such as Score = 'NaN'";
    }
    pt_error_set(parser->error, SQLITE_ERROR, "Filter: %s and %s are both %s (NotImplemented)",
                 left_text, right_text, problem);
}

/* --- Nodes --- */

static pt_filter_node *new_node(filter_parser *parser, pt_filter_kind kind)
{
    pt_filter_node *node = pt_arena_alloc(&parser->filter->arena, sizeof *node);
    if (node == NULL) {
        pt_error_nomem(parser->error);
        return NULL;
    }
    *node = (pt_filter_node){.kind = kind};
    return node;
}

/* Adds a name to the filter's properties. */
static bool add_filter_property(filter_parser *parser, pt_slice name)
{
    pt_filter *filter = parser->filter;
    char *copy = pt_arena_alloc(&filter->arena, name.size + 1);
    if (copy == NULL ||
        !pt_arena_reserve(&filter->arena, &filter->properties, &parser->property_capacity,
                          (unsigned)filter->property_count, sizeof *filter->properties)) {
        return pt_error_nomem(parser->error) == SQLITE_OK;
    }
    memcpy(copy, name.data, name.size);
    copy[name.size] = 0;
    filter->properties[filter->property_count++] =
        (pt_column){.name = copy, .name_size = name.size, .type = PT_NONE};
    return true;
}

static pt_filter_subject subject_of(const pt_filter_token *name)
{
    if (is_word(name, "PartitionKey")) {
        return PT_FILTER_PARTITION_KEY;
    }
    if (is_word(name, "RowKey")) {
        return PT_FILTER_ROW_KEY;
    }
    return is_word(name, "Timestamp") ? PT_FILTER_TIMESTAMP : PT_FILTER_PROPERTY;
}

static pt_filter_node *new_comparison(filter_parser *parser, const pt_filter_token *name,
                                      pt_filter_op op, const pt_value *constant)
{
    pt_filter_node *node = new_node(parser, PT_FILTER_COMPARISON);
    if (node == NULL) {
        return NULL;
    }
    node->subject = subject_of(name);
    node->op = op;
    node->constant = *constant;
    bool is_key = node->subject == PT_FILTER_PARTITION_KEY || node->subject == PT_FILTER_ROW_KEY;
    parser->filter->reads_record = parser->filter->reads_record || !is_key;
    if (node->subject == PT_FILTER_PROPERTY) {
        node->property = parser->filter->property_count;
        if (!add_filter_property(parser, name->text)) {
            return NULL;
        }
    }
    return node;
}

/* --- Comparisons --- */

/* The operator with its sides exchanged. */
static pt_filter_op mirrored(pt_filter_op op)
{
    switch (op) {
    case PT_FILTER_GT:
        return PT_FILTER_LT;
    case PT_FILTER_GE:
        return PT_FILTER_LE;
    case PT_FILTER_LT:
        return PT_FILTER_GT;
    case PT_FILTER_LE:
        return PT_FILTER_GE;
    default:
        return op;
    }
}

/* Consumes a property or a constant. Anything else is refused with an error that names it. */
static bool take_operand(filter_parser *parser, filter_operand *operand)
{
    pt_filter_token *token = &parser->token;
    bool is_true = is_word(token, "true");
    if (is_true || is_word(token, "false")) {
        token->kind = PT_TOKEN_CONSTANT;
        token->value = (pt_value){.type = PT_BOOLEAN, .integer = is_true};
    }
    operand->is_constant = token->kind == PT_TOKEN_CONSTANT;
    operand->token = *token;
    if (is_word(token, "null")) {
        refuse_null(parser);
        return false;
    }
    if (token->kind == PT_TOKEN_OTHER && token->text.data[0] == '-') {
        refuse_arithmetic(parser);
        return false;
    }
    if (!operand->is_constant && (token->kind != PT_TOKEN_WORD || is_keyword(token))) {
        refuse_token(parser, token, operand_expected);
        return false;
    }
    if (!next_token(parser)) {
        return false;
    }
    if (!operand->is_constant && parser->token.kind == PT_TOKEN_OPEN) {
        refuse_function(parser, &operand->token);
        return false;
    }
    if (word_index(&parser->token, arithmetic) >= 0) {
        refuse_arithmetic(parser);
        return false;
    }
    return true;
}

/* True if a comparison may end before the token. */
static bool ends_comparison(const pt_filter_token *token)
{
    return token->kind == PT_TOKEN_END || token->kind == PT_TOKEN_CLOSE || is_word(token, "and") ||
           is_word(token, "or");
}

/* A property that no operator follows. */
static pt_filter_node *parse_boolean_property(filter_parser *parser, const pt_filter_token *name)
{
    const pt_value yes = {.type = PT_BOOLEAN, .integer = 1};
    if (ends_comparison(&parser->token)) {
        return new_comparison(parser, name, PT_FILTER_EQ, &yes);
    }
    if (looks_like_keyword(name)) {
        refuse_token(parser, name, operand_expected);
    } else {
        refuse_token(parser, &parser->token, operator_expected);
    }
    return NULL;
}

/* An operand that no operator follows. */
static pt_filter_node *parse_alone(filter_parser *parser, const filter_operand *operand)
{
    if (!operand->is_constant) {
        return parse_boolean_property(parser, &operand->token);
    }
    if (operand->token.value.type != PT_BOOLEAN) {
        refuse_token(parser, &parser->token, operator_expected);
        return NULL;
    }
    pt_filter_node *node = new_node(parser, PT_FILTER_CONSTANT);
    if (node != NULL) {
        node->value = operand->token.value.integer != 0;
    }
    return node;
}

static pt_filter_node *parse_comparison(filter_parser *parser)
{
    filter_operand left;
    filter_operand right;
    if (!take_operand(parser, &left)) {
        return NULL;
    }
    int op = word_index(&parser->token, operators);
    if (op < 0) {
        return parse_alone(parser, &left);
    }
    if (!next_token(parser) || !take_operand(parser, &right)) {
        return NULL;
    }
    if (left.is_constant == right.is_constant) {
        refuse_pair(parser, &left, &right);
        return NULL;
    }
    return left.is_constant
               ? new_comparison(parser, &right.token, mirrored((pt_filter_op)op), &left.token.value)
               : new_comparison(parser, &left.token, (pt_filter_op)op, &right.token.value);
}

/* --- Logic --- */

static pt_filter_node *parse_parentheses(filter_parser *parser)
{
    if (parser->depth == PT_FILTER_DEPTH_MAX) {
        pt_filter_syntax_error(&parser->lexer, parser->token.text.data, parser->error,
                               "more than %d nested parentheses", PT_FILTER_DEPTH_MAX);
        return NULL;
    }
    parser->depth++;
    pt_filter_node *node = next_token(parser) ? parse_expression(parser) : NULL;
    parser->depth--;
    if (node != NULL && parser->token.kind != PT_TOKEN_CLOSE) {
        refuse_token(parser, &parser->token, "and, or or )");
        return NULL;
    }
    return node != NULL && next_token(parser) ? node : NULL;
}

static pt_filter_node *parse_negation(filter_parser *parser)
{
    bool negated = false;
    while (is_word(&parser->token, "not")) {
        negated = !negated;
        if (!next_token(parser)) {
            return NULL;
        }
    }
    pt_filter_node *node =
        parser->token.kind == PT_TOKEN_OPEN ? parse_parentheses(parser) : parse_comparison(parser);
    if (node != NULL && negated) {
        node->negated = !node->negated;
    }
    return node;
}

/* One or more operands, each read by `parse`, separated by the word. */
static pt_filter_node *parse_chain(filter_parser *parser, const char *word, pt_filter_kind kind,
                                   pt_filter_node *(*parse)(filter_parser *parser))
{
    pt_filter_node *first = parse(parser);
    if (first == NULL || !is_word(&parser->token, word)) {
        return first;
    }
    pt_filter_node *chain = new_node(parser, kind);
    if (chain == NULL) {
        return NULL;
    }
    chain->first = first;
    for (pt_filter_node *last = first; is_word(&parser->token, word); last = last->next) {
        last->next = next_token(parser) ? parse(parser) : NULL;
        if (last->next == NULL) {
            return NULL;
        }
    }
    return chain;
}

static pt_filter_node *parse_conjunction(filter_parser *parser)
{
    return parse_chain(parser, "and", PT_FILTER_AND, parse_negation);
}

static pt_filter_node *parse_expression(filter_parser *parser)
{
    return parse_chain(parser, "or", PT_FILTER_OR, parse_conjunction);
}

/* --- Whole filters --- */

static int check_text(pt_slice text, pt_error *error)
{
    while (text.size != 0) {
        size_t size = pt_utf8_size(text);
        if (size == 0) {
            return pt_error_set(error, SQLITE_ERROR,
                                "Filter: the text is not UTF-8; give it in the database's encoding "
                                "(InvalidInput)");
        }
        text = pt_slice_of(text.data + size, text.size - size);
    }
    return SQLITE_OK;
}

static pt_filter_node *parse_all(filter_parser *parser)
{
    if (!next_token(parser)) {
        return NULL;
    }
    if (parser->token.kind == PT_TOKEN_END) {
        pt_filter_node *all = new_node(parser, PT_FILTER_CONSTANT);
        if (all != NULL) {
            all->value = true;
        }
        return all;
    }
    pt_filter_node *root = parse_expression(parser);
    if (root != NULL && parser->token.kind != PT_TOKEN_END) {
        refuse_token(parser, &parser->token, "and, or or the end");
        return NULL;
    }
    return root;
}

int pt_filter_parse(pt_filter *filter, pt_slice text, pt_error *error)
{
    pt_arena_clear(&filter->arena);
    *filter = (pt_filter){.arena = filter->arena};
    int rc = check_text(text, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Tokens point into the text. The end token needs an address even if the text has none. */
    pt_slice lasting = text.size != 0 ? text : pt_slice_text("");
    filter_parser parser = {
        .filter = filter, .lexer = {.filter = lasting, .arena = &filter->arena}, .error = error};
    filter->root = parse_all(&parser);
    return filter->root != NULL ? SQLITE_OK : error->rc;
}

void pt_filter_free(pt_filter *filter)
{
    pt_arena_free(&filter->arena);
    *filter = (pt_filter){0};
}

int pt_filter_text(sqlite3_value *argument, pt_slice *text, pt_error *error)
{
    int type = sqlite3_value_type(argument);
    if (type == SQLITE_NULL) {
        *text = pt_slice_text("false");
        return SQLITE_OK;
    }
    if (type != SQLITE_TEXT) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "Filter is a %s; give a text, as 'Age gt 30' (InvalidInput)",
                            type == SQLITE_BLOB ? "BLOB" : "number");
    }
    const unsigned char *bytes = sqlite3_value_text(argument);
    *text = pt_slice_of(bytes, (size_t)sqlite3_value_bytes(argument));
    return bytes != NULL ? SQLITE_OK : pt_error_nomem(error);
}
