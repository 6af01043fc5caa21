"""Finds secrets by what is said of them: pass phrases of several words, codes of locks, what opens or unlocks a thing.

What follows a word for a secret and `is`, `:` or the like is taken whole, to the end of its clause: how long a pass
phrase is, and which words it is made of, cannot be known. Ordinary talk of secrets stays: "the password is wrong",
"change the password", "set the alarm for 0730".
Covered: pass phrases and the words of a seed, answers to security questions; digits in any grouping, also dictated,
after a code, a combination, "opens with" and before "to log in" or "is your code". Takes time linear in the text.
Not covered: a secret without such words around it, languages other than English beyond the commonest cues, a pass
phrase that reads like talk of it ("the password is wrong again").
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hearth import patterns as re
from hearth.guard.deidentify.names.common_words import FUNCTION_WORDS
from hearth.language.text.confusables import Words, fold
from hearth.language.text.span import Found, n_digits

_MOST_TOKENS, _MOST_CHARS = 28, 300
"""Bounds of a pass phrase; the longest seeds have 24 words."""
_LEAST_DIGITS = 3

# ── Pass phrases ──────────────────────────────────────────────────────────────────────────────────────────

_KEYED = "wi-?fi|wlan|wpa2?|wep|network|router|encryption|decryption|recovery|licen[cs]e|product|backup|private|master"
_WORD_CUE = re.compile(
    rf"\b(?:pass[ -]?(?:word|phrase|code)s?|passwort|kennwort|passwd|pwd|pw|(?:{_KEYED}|security) key|"
    r"(?:seed|recovery|backup|mnemonic|secret|security|pass|magic|safe|code)[- ](?:phrase|words?)|codeword|mnemonic|"
    r"maiden name|(?:security|secret) (?:question )?answer|(?:security|secret) question['’]s answer|"
    r"answer to (?:the|my|our|his|her|a|your) (?:security|secret) question|login|logins|credentials|contraseña|"
    r"mot de passe|wachtwoord)\b(?:['’]s\b)?(?: \([^()\n]{1,20}\))?",
    re.IGNORECASE,
)
_OF = r"(?:[ \t]{1,2}(?:for|of|to|on|at|from|in|zum|für|vom)(?:[ \t]{1,2}[\w'’.-]{1,30}){1,6}?)?"
_IS = (
    r"(?:[ \t]{0,3}(?:=>|->|[:=])|[ \t]{1,3}(?:is|was|are|were|will be|should be|reads|ist|war|lautet|est|es|è)\b"
    r"(?:[ \t]{1,2}(?:now|still|currently|just|simply|actually|set to|"
    r"changed to))?[ \t]{0,2}[:=]?)[ \t]{0,3}\n?[ \t]{0,3}"
)
_CHOSEN = (
    r"(?:[ \t]{1,2}(?:that[ \t]{1,2})?(?:i|we|he|she|they|you)(?:['’](?:ve|m|re|d))?(?:[ \t]{1,2}[\w'’]{1,12}){0,2}?"
    r"[ \t]{1,2}(?:use|uses|used|chose|set|picked|made|have|has|got|gave|wrote|took|keep|want|wanted))?"
)
"""Who has the secret: "the pass phrase I use"."""
_SAID = re.compile(_OF + _CHOSEN + _IS, re.IGNORECASE)
_MIXED = r"(?=[^\s\d]{0,40}\d)(?=[^\sA-Za-z]{0,40}[A-Za-z])[^\s,;:?!]{5,40}"
"""A run of letters and digits, as passwords are."""
_BARE = re.compile(rf"{_OF}[ \t]{{1,2}}(?P<secret>{_MIXED})", re.IGNORECASE)
_FROM_TO = re.compile(
    rf"[ \t]{{1,2}}from[ \t]{{1,2}}(?P<old>\S{{1,40}})[ \t]{{1,2}}to[ \t]{{1,2}}(?P<new>{_MIXED})", re.IGNORECASE
)
_AS_PASSWORD = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|set|take|try|put|choose|chose|pick)[ \t]{1,2}(?P<secret>[^\s,;:?!]{4,40})[ \t]{1,2}as"
    r"[ \t]{1,2}(?:the|my|our|a|your|his|her)[ \t]{1,2}(?:[\w-]{1,15}[ \t]{1,2}){0,2}?"
    r"(?:pass[ -]?(?:word|phrase|code)|pin|pwd)\b",
    re.IGNORECASE,
)
_SET_TO = re.compile(r"[ \t]{1,2}to[ \t]{1,2}(?!(?:the|a|an|be|my|our|your)\b)", re.IGNORECASE)
_SETTING = re.compile(
    r"\b(?:chang(?:e|es|ed|ing)|(?:re)?set(?:s|ting)?|updat(?:e|es|ed|ing)|make|switch)\b", re.IGNORECASE
)
_CLOSED_BY = {'"': '"', "“": "”", "`": "`"}
_TOKEN = re.compile(r"\S{1,80}")
_ENDING = '.,;:?!)"”'
"""Characters that end a clause when a blank follows them."""
_TURNS = frozenset("and but or so because if when while since then as though please thanks thank cheers".split())
_SURE_TURNS = frozenset("but because please thanks cheers though".split())
_AFTER_A_TURN = frozenset(
    "the my i you it we he she they your our his her their please can could will would then don dont do not remind "
    "tell "
    "call write send keep this that there what when where who how is pin code password passcode user username login "
    "email ask make let never always only also".split()
)
"""Words that begin a new clause after "and" and the like."""
_OTHER_CUES = frozenset("password passwort pin code username login".split())
"""Words that another secret begins with: "login nora77 password …"."""
_REQUESTS = frozenset("can could will would shall tell send ask remind give show text mail email let save note".split())
_ADDRESSEES = frozenset("you i we me him her us them it that this the my our".split())
_GRAMMAR = frozenset(
    "not no on in under at with by for from of to via behind inside near next as than like about above below between "
    "and or but so because if when while where what who whose how why which whether until since till too very quite "
    "rather really never always still already only also just again anymore here there now then today tomorrow "
    "yesterday tonight soon later last it i you we he she they me him her us them this these those is are was were be "
    "been being has have had do does did can could should would will must may might up out off over enough only all "
    "none nothing something anything somewhere everywhere".split()
)
_STATES = frozenset(
    "wrong right correct incorrect weak strong short long longer shorter old new good bad better worse best fine ok "
    "okay "
    "easy hard tricky difficult simple complex complicated safe unsafe secure insecure secret public private visible "
    "hidden empty blank missing lost gone stolen broken forgotten written known unknown valid invalid due ready unique "
    "different same similar identical usual default temporary permanent important necessary optional mandatory working "
    "failing expiring changing annoying confusing getting going coming case set kept taken given sent saved stored "
    "hashed found leaked shown hid stuck mine yours ours theirs free open closed available sensitive impossible "
    "possible obvious clear crazy stupid silly terrible great nice perfect useless useful fresh current previous slow "
    "fast down live stale true false one first second number part mess pain joke problem mystery must requirement "
    "thing bit lot word combination mix reminder string way name key page form screen button".split()
)
"""Words that tell how a secret is; beside a word of grammar, or alone, they are none."""
_DETERMINERS = frozenset("a an the my your his our their some any".split())
_COUNTED = frozenset("character characters chars letter letters digit digits symbols signs attempts tries".split())


def _phrases(text: str) -> Iterator[Found]:
    """Find what follows a word for a pass phrase."""
    for cue in _WORD_CUE.finditer(text):
        said = _SAID.match(text, cue.end())
        if said is None:
            yield from _unsaid(text, cue)
        elif found := _phrase(text, said.end()):
            yield found
    for match in _AS_PASSWORD.finditer(text):
        if fold(match["secret"]) not in _GRAMMAR | _DETERMINERS:
            yield Found(match.start("secret"), match.end("secret"), "secret")


def _unsaid(text: str, cue: re.Match[str]) -> Iterator[Found]:
    """Find a secret that no "is" leads to: "my password's Tr0mb", "the password for netflix hunter22", a new one."""
    if cue[0][-2:].casefold() in ("'s", "’s") and (blank := _BLANK.match(text, cue.end())) is not None:
        mixed = _MIXED_RUN.match(text, blank.end())
        if mixed is not None:
            yield Found(mixed.start(), mixed.end(), "secret")
        return
    is_setting = _SETTING.search(text, max(0, cue.start() - 40), cue.start()) is not None
    if is_setting and (changed := _FROM_TO.match(text, cue.end())) is not None:
        yield from (Found(changed.start(name), changed.end(name), "secret") for name in ("old", "new"))
    elif is_setting and (said := _SET_TO.match(text, cue.end())) is not None:
        if found := _phrase(text, said.end()):
            yield found
    elif (bare := _BARE.match(text, cue.end())) is not None:
        yield Found(bare.start("secret"), bare.end("secret"), "secret")


def _phrase(text: str, start: int) -> Found | None:
    """Find the pass phrase that begins at `start`, unless it is ordinary talk."""
    if text[start : start + 1] in _CLOSED_BY:
        end = text.find(_CLOSED_BY[text[start]], start + 1, start + _MOST_CHARS)
        return Found(start + 1, end, "secret") if end > start + 1 else None
    tokens = _clause(text, start)
    folded = [fold(text[at:end]).strip("\"'“”‘’`") for at, end in tokens]
    if not tokens or _is_talk(folded):
        return None
    return Found(tokens[0][0], tokens[-1][1], "secret")


def _clause(text: str, start: int) -> list[tuple[int, int]]:
    """Split what begins at `start` into the tokens of its clause. Words in a row with commas are one clause."""
    tokens: list[tuple[int, int]] = []
    at = start
    while len(tokens) < _MOST_TOKENS and at - start < _MOST_CHARS:
        token = _TOKEN.match(text, at)
        if token is None:
            break
        bare = token[0].rstrip(_ENDING) or token[0]
        if tokens and (bare in "-–—|" or bare[0] in "([{<" or token[0][-1] == ":"):
            break
        word, following = fold(bare), _next_word(text, token.end())
        if tokens and _begins_another(word, following):
            break
        if len(tokens) == 1 and _is_whole(text[slice(*tokens[0])], word, following):
            break
        kept = token[0] if token[0][-1] == "!" else bare
        tokens.append((token.start(), token.start() + len(kept)))
        is_ended = len(bare) < len(token[0]) and not (bare.isdigit() and token[0][-1] == "." and len(bare) < 3)
        if is_ended and not _is_listed(text, tokens, token.end()):
            break
        blank = _BLANK.match(text, token.end())
        if blank is None:
            break
        at = blank.end()
    return tokens


def _begins_another(word: str, following: str) -> bool:
    """Return whether a word within a clause begins another one: "… but call me", "… login nora"."""
    if word in _TURNS and (word in _SURE_TURNS or following in _AFTER_A_TURN):
        return True
    return word in _OTHER_CUES or (word in _REQUESTS and following in _ADDRESSEES)


def _is_whole(run: str, word: str, following: str) -> bool:
    """Return whether a run is all of a secret: "hunter2 for guests", "swordfish for the guests"."""
    if word == "and" or (word not in _GRAMMAR and word not in FUNCTION_WORDS):
        return False
    return not (run.isalpha() and (run.islower() or run.istitle())) or (
        word in ("for", "on", "at", "in") and following in _DETERMINERS
    )


_BLANK = re.compile(r"[ \t]{1,3}(?=\S)")
_MIXED_RUN = re.compile(_MIXED)
_NEXT_WORD = re.compile(r"[ \t]{1,3}(\w{1,30})[,.]?(?!\w)")


def _next_word(text: str, at: int) -> str:
    found = _NEXT_WORD.match(text, at)
    return fold(found[1]) if found else ""


_NEXT_LISTED = re.compile(r"[ \t]{1,3}[^\W\d_]{2,20},")


def _is_listed(text: str, tokens: Sequence[tuple[int, int]], end: int) -> bool:
    """Return whether the tokens are words of a list that goes on at `end`: each has a comma, and so has the next."""
    if any(text[after : after + 1] != "," or not text[at:after].isalpha() for at, after in tokens):
        return False
    return bool(_NEXT_LISTED.match(text, end)) or (len(tokens) > 2 and bool(_NEXT_WORD.match(text, end)))


def _is_talk(folded: Sequence[str]) -> bool:
    """Return whether the words tell of a secret, and are none: "wrong again", "on the fridge", "the same as ever"."""
    first, rest = folded[0], folded[1:]
    if first in _GRAMMAR:
        return True
    if first in _DETERMINERS:
        return not rest or rest[0] in _STATES or rest[0] in _GRAMMAR
    is_followed = bool(rest) and rest[0] not in _GRAMMAR
    if is_followed:
        return rest[0] in _COUNTED or (first in _STATES and rest[0] in _STATES)
    return first in _STATES or (len(first) > 4 and first.endswith(("ed", "able", "ible")) and first.isalpha())


# ── Codes ─────────────────────────────────────────────────────────────────────────────────────────────────

_LOCK = (
    "alarm|door|gate|garage|bike|bicycle|lock|unlock|padlock|safe|locker|vault|entry|entrance|access|security|phone|"
    "mobile|screen|sim|card|house|home|flat|apartment|building|key|keypad|lift|elevator|cellar|basement|shed|car|"
    "luggage|"
    "suitcase|cabinet|gym|office|front|back|verification|confirmation|login|backup|recovery|2fa|factor|authenticator|"
    "bank|banking|atm|voicemail|tablet|ipad|laptop|wi-?fi|guest|parental|parking|barrier|lockbox|reset|activation|"
    "pairing|bluetooth|disarm|box|tor|tür"
)
_CODE = r"(?:pass)?codes?|pins?|combination|combo|puk|otp|tan|geheimzahl"
_NUMBER_WORD = (
    r"(?:zero|oh|nought|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|double|triple)"
)
_DIGITS = (
    r"(?P<code>(?:[#*]?[A-Za-z]?\d{1,12}(?:(?:[ \t]?[-–/][ \t]?|[ \t])\d{1,6}){0,7}[A-Za-z]?[#*]?(?![\w:]|[.,]\d)|"
    rf"(?:{_NUMBER_WORD}[ ,-]{{1,2}}){{1,11}}{_NUMBER_WORD}\b))"
)
_ENDS = (
    r"(?=[ \t]{0,3}(?:\Z|[^\w \t]|(?:and|or|but|so|on|at|for|in(?! its\b| the (?:name|title))|to|then|when|if|now|"
    r"again|please|not|since|until|as|from|because|with|of|by|is|was|i|you|we|dont|don)\b))"
)
"""Behind a code no word that it counts: "opens with 300 dancers" tells of no lock."""
_OPENING = (
    r"(?:un)?lock(?:s|ed|ing)?|open(?:s|ed|ing)?|(?:dis)?arm(?:s|ed|ing)?|log(?:s|ged|ging)?[ -](?:in|on)|"
    r"sign(?:s|ed|ing)?[ -](?:in|on)|gets? in(?:to)?|lets? (?:me|you|us|him|her|them) in|enter(?:s|ed)?"
)
_CODES = re.compile(
    rf"\b(?:{_LOCK})[ -](?:{_CODE}|lock)(?:{_IS}|[ \t]{{1,3}}(?:no\.?[ \t]|number[ \t]|#[ \t]?)?){_DIGITS}{_ENDS}",
    re.IGNORECASE,
)
_CODE_OF = re.compile(rf"\b(?:{_CODE}){_OF}{_IS}[\"'“]?{_DIGITS}{_ENDS}", re.IGNORECASE)
_SPACED_PIN = re.compile(r"\b(?:pin|puk|passcode)[ \t]{1,3}(?P<code>\d(?:[ -]\d){2,7})(?![\w:]|[.,]\d)", re.IGNORECASE)
_COMBINATION = re.compile(
    r"\b(?:combination|combo)[ \t]{1,3}(?P<code>\d{1,2}(?:[ \t]?[-–/ ][ \t]?\d{1,2}){2,4}|\d{3,8})(?![\w:]|[.,]\d)",
    re.IGNORECASE,
)
_OPENS_WITH = re.compile(
    rf"\b(?:{_OPENING})(?:[ \t]{{1,2}}[\w'’-]{{1,20}}){{0,6}}?[ \t]{{1,2}}(?:with|using|via|by)[ \t]{{1,2}}"
    rf"(?:(?:the|my|our)[ \t]{{1,2}})?(?:(?:{_CODE}|number)[ \t]{{1,2}})?{_DIGITS}{_ENDS}",
    re.IGNORECASE,
)
_OPENS_BY_WORD = re.compile(
    r"\b(?:unlock(?:s|ed|ing)?|opens|opened|disarm(?:s|ed|ing)?|log(?:s|ged|ging)?[ -](?:in|on)|sign(?:s|ed|"
    r"ing)?[ -](?:in|on)|"
    r"gets? in(?:to)?)(?:[ \t]{1,2}[\w'’-]{1,20}){0,6}?[ \t]{1,2}(?:with|using|via|and)[ \t]{1,2}(?:the|my|"
    r"our)[ \t]{1,2}"
    r"(?:pass[ -]?)?(?:word|phrase|code)[ \t]{1,2}",
    re.IGNORECASE,
)
_CODE_FOR = re.compile(
    rf"\b(?:{_CODE})[ \t]{{1,2}}{_DIGITS}"
    r"(?=[ \t]{1,2}for[ \t]{1,2}(?:(?:the|my|our|your|his|her|their)[ \t]{1,2})?"
    rf"(?:[\w-]{{1,20}}[ \t]{{1,2}}){{0,2}}?(?:{_LOCK})\b)",
    re.IGNORECASE,
)
_CHANGED_TO = re.compile(
    rf"\b(?:{_CODE})\b(?:[ \t]{{1,2}}[\w'’-]{{1,20}}){{0,5}}?[ \t]{{1,2}}(?:to|into)[ \t]{{1,2}}{_DIGITS}{_ENDS}",
    re.IGNORECASE,
)
_KEYED_IN = re.compile(rf"\b(?:key|punch|tap)(?:s|ed|ing)? in[ \t]{{1,2}}{_DIGITS}{_ENDS}", re.IGNORECASE)
_USED_TO = re.compile(
    rf"\b(?:us(?:e|ing)|enter|type(?: in)?|key in|punch in|tap in|put in|"
    rf"try)[ \t]{{1,2}}(?:(?:the[ \t])?(?:{_CODE})[ \t])?"
    rf"{_DIGITS}(?=[ \t]{{1,2}}(?:to|at|on|onto|for|in|into|as|when)\b[^.!?\n]{{0,50}}?\b"
    r"(?:log|login|logging|sign|signing|unlock|"
    r"unlocking|open|opening|enter|entering|door|gate|garage|keypad|alarm|disarm|verify|verification|confirm|get in|"
    r"access|"
    r"code|pin|password|safe|lock|authenticate)\b)",
    re.IGNORECASE,
)
_IS_THE_CODE = re.compile(
    rf"(?<![\w.,:-]){_DIGITS}(?=[ \t]{{1,2}}(?:is|was|ist)[ \t]{{1,2}}(?:your|my|our|the|his|her|their|a)"
    rf"(?:[ \t]{{1,2}}[\w-]{{1,20}}){{0,4}}?[ \t]{{1,2}}(?:{_CODE}|password|passcode)\b)",
    re.IGNORECASE,
)


_CODE_FORMS = (
    *(_CODES, _CODE_OF, _SPACED_PIN, _COMBINATION, _OPENS_WITH, _USED_TO, _IS_THE_CODE),
    *(_CODE_FOR, _CHANGED_TO, _KEYED_IN),
)


def _codes(text: str) -> Iterator[Found]:
    """Find the digits that open something."""
    for form in _CODE_FORMS:
        for match in form.finditer(text):
            said = match["code"]
            if form is _CHANGED_TO and not _SETTING.search(text, max(0, match.start() - 40), match.start("code")):
                continue
            if n_digits(said) >= _LEAST_DIGITS or (said[:1].isalpha() and not n_digits(said)):
                yield Found(match.start("code"), match.end("code"), "secret")
    for match in _OPENS_BY_WORD.finditer(text):
        if found := _phrase(text, match.end()):
            yield found


# ── Both ──────────────────────────────────────────────────────────────────────────────────────────────────

_PHRASE_WORDS = frozenset(
    "password passwords passphrase passphrases passcode passcodes pass passwort kennwort passwd pwd pw key phrase "
    "phrases "
    "word words codeword mnemonic maiden answer question login logins credentials contrasena wachtwoord passe".split()
)
_CODE_WORDS = frozenset(
    "code codes passcode passcodes pin pins combination combo puk otp tan geheimzahl lock locks locked locking unlock "
    "unlocks unlocked unlocking open opens opened opening arm arms armed arming disarm disarms disarmed disarming log "
    "logs logged logging sign signs signed signing get gets let lets enter enters entered use using type key punch tap "
    "put try".split()
)


def find_said_secrets(text: str, words: Words) -> Iterator[Found]:
    """Find secrets by the words around them; spans may overlap. `words`: `confusables.words(text)`."""
    if not _PHRASE_WORDS.isdisjoint(words.folded):
        yield from _phrases(text)
    if not _CODE_WORDS.isdisjoint(words.folded):
        yield from _codes(text)
