"""Types of arguments that are one number or one a dimension (source: ``torch.nn.common_types``)."""

from __future__ import annotations

from typing import Any

_size_any_t = _size_1_t = _size_2_t = _size_3_t = _size_4_t = _size_5_t = _size_6_t = int | tuple[int, ...]
_size_any_opt_t = _size_2_opt_t = _size_3_opt_t = int | tuple[int | None, ...] | None
_ratio_any_t = _ratio_2_t = _ratio_3_t = float | tuple[float, ...]
_maybe_indices_t = _tensor_list_t = _scalar_or_tuple_any_t = Any
