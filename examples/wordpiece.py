"""The tokenizer of uncased BERT models: lower case, no accents, split at spaces and
punctuation, then the longest known pieces of each word (Devlin et al. 2019; Wu et al. 2016)."""

import unicodedata
from pathlib import Path

LONGEST_WORD = 100  # characters; a longer word is unknown, as in the model's own tokenizer


class WordPiece:
    def __init__(self, vocabulary: Path):
        self.pieces = vocabulary.read_text(encoding="utf-8").splitlines()
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.unknown, self.start, self.end = (self.ids[p] for p in ("[UNK]", "[CLS]", "[SEP]"))

    def encode(self, text: str, limit: int) -> list[int]:
        """Token ids, [CLS] and [SEP] included, cut to `limit`."""
        ids = [piece for word in split_words(text) for piece in self.encode_word(word)]
        return [self.start, *ids[: limit - 2], self.end]

    def encode_word(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self.unknown]
        ids, begin = [], 0
        while begin < len(word):
            prefix = "##" if begin else ""
            for end in range(len(word), begin, -1):
                found = self.ids.get(prefix + word[begin:end])
                if found is not None:
                    break
            else:
                return [self.unknown]
            ids.append(found)
            begin = end
        return ids


def split_words(text: str) -> list[str]:
    """Words and single punctuation marks, lower case, accents removed."""
    text = unicodedata.normalize("NFD", text.lower())
    spaced = []
    for char in text:
        category = unicodedata.category(char)
        if category == "Mn":  # an accent, split off by NFD
            continue
        if char.isspace():
            spaced.append(" ")
        elif category.startswith("C") or char == "\ufffd":
            continue
        elif is_punctuation(char, category) or is_chinese(char):
            spaced.append(f" {char} ")
        else:
            spaced.append(char)
    return "".join(spaced).split()


def is_punctuation(char: str, category: str) -> bool:
    # BERT counts all of ASCII's symbols, which Unicode does not.
    return category.startswith("P") or (char.isascii() and char.isprintable() and not char.isalnum() and char != " ")


def is_chinese(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" or "\uf900" <= char <= "\ufaff"
