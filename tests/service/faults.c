#include "service/faults.h"

static const char *const kinds[] = {
    [FAULT_DROP] = "drop",         [FAULT_LOSE] = "lose",   [FAULT_CUT] = "cut",
    [FAULT_CLOSE] = "close",       [FAULT_DELAY] = "delay", [FAULT_BUSY] = "busy",
    [FAULT_THROTTLE] = "throttle", [FAULT_SPOIL] = "spoil", [FAULT_PAGE] = "page",
    [FAULT_REDIRECT] = "redirect",
};

static fault_kind kind_of(const char *word)
{
    for (size_t i = FAULT_DROP; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i], word) == 0) {
            return (fault_kind)i;
        }
    }
    return FAULT_NONE;
}

bool faults_add(faults *all, const char *text)
{
    char word[16];
    char plus[2] = "";
    unsigned long long at;
    long long parameter = 0;
    int used = 0;
    if (sscanf(text, " %15s %llu%n", word, &at, &used) != 2 || at == 0) {
        return false;
    }
    const char *rest = text + used;
    sscanf(rest, "%1[+]%n", plus, &used);
    rest += *plus != 0;
    bool has_parameter = sscanf(rest, " %lld %n", &parameter, &used) == 1;
    bool is_whole = has_parameter ? rest[used] == 0 : rest[strspn(rest, " ")] == 0;
    fault_kind kind = kind_of(word);
    if (!is_whole || kind == FAULT_NONE || all->count == FAULTS_MAX) {
        return false;
    }
    all->list[all->count++] = (fault){
        .kind = kind, .at = all->requests + at, .from_there = *plus != 0, .parameter = parameter};
    return true;
}

fault faults_next(faults *all)
{
    all->requests++;
    for (size_t i = 0; i < all->count; i++) {
        const fault *made = &all->list[i];
        if (made->at == all->requests || (made->from_there && made->at < all->requests)) {
            return *made;
        }
    }
    return (fault){.kind = FAULT_NONE};
}
