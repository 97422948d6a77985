"""How objects get into files and out again: the parts that `livetape.serialization` is made of."""
