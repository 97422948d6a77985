"""SummaryWriter: tensorboardX's, which gets arrays in the place of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorboardX
from tensorboardX.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2

from livetape import dtypes
from livetape.tensor import Tensor
from livetape.utils.tensorboard._graph import graph_of

_TENSOR_TYPES = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9, "bool": 10}


def _plain(value: Any) -> Any:
    """A value with arrays for the tensors in it."""
    if isinstance(value, Tensor):
        value = value.detach()
        return (value.to(dtypes.float32) if value.dtype is dtypes.bfloat16 else value).numpy()
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) for part in value):
        return type(value)(map(_plain, value))
    return value


class SummaryWriter:
    """Writes scalars, histograms, images, texts and more to a folder that TensorBoard shows.

    The folder is ``log_dir``, or ``runs/<time>_<machine><comment>`` (source:
    ``torch.utils.tensorboard.SummaryWriter``).
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        self._writer = tensorboardX.SummaryWriter(
            None if log_dir is None else str(log_dir),
            comment=comment,
            purge_step=purge_step,
            max_queue=max_queue,
            flush_secs=flush_secs,
            filename_suffix=filename_suffix,
        )
        self.log_dir = self._writer.logdir

    @property
    def file_writer(self) -> Any:
        """The writer of the event file."""
        return self._writer.file_writer

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.log_dir)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A number at a step."""
        self._writer.add_scalar(tag, _plain(scalar_value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Several numbers in one chart."""
        self._writer.add_scalars(main_tag, _plain(tag_scalar_dict), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Tensor, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A tensor as it is."""
        array = np.ascontiguousarray(_plain(tensor)).reshape(tensor.shape)
        if array.dtype.name not in _TENSOR_TYPES:
            raise ValueError(f"{tensor.dtype} is not supported by add_tensor")
        shape = tensor_shape_pb2.TensorShapeProto(
            dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=size) for size in array.shape]
        )
        content = tensor_pb2.TensorProto(
            dtype=_TENSOR_TYPES[array.dtype.name], tensor_shape=shape, tensor_content=array.tobytes()
        )
        value = summary_pb2.Summary.Value(
            tag=tag,
            tensor=content,
            metadata=summary_pb2.SummaryMetadata(
                plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="tensor")
            ),
        )
        self.file_writer.add_summary(summary_pb2.Summary(value=[value]), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: str = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How the values of a tensor are distributed."""
        self._writer.add_histogram(tag, _plain(values), global_step, bins, walltime, max_bins)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A distribution that is counted already."""
        numbers = _plain([min, max, num, sum, sum_squares, bucket_limits, bucket_counts])
        self._writer.add_histogram_raw(tag, *numbers, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: uint8, or floating point in [0, 1]. Needs the library pillow."""
        self._writer.add_image(tag, _plain(img_tensor), global_step, walltime, dataformats)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures in a grid. Needs the library pillow."""
        self._writer.add_images(tag, _plain(img_tensor), global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """A picture with boxes drawn into it. Needs the library pillow."""
        self._writer.add_image_with_boxes(
            tag, _plain(img_tensor), _plain(box_tensor), global_step, walltime, dataformats, labels, rescale=rescale
        )

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of matplotlib, or several."""
        self._writer.add_figure(tag, figure, global_step, close, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """A film (N, T, C, H, W). Needs the library moviepy."""
        self._writer.add_video(tag, _plain(vid_tensor), global_step, fps, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound, of values in [-1, 1]. Needs the library soundfile."""
        self._writer.add_audio(tag, _plain(snd_tensor), global_step, sample_rate, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """A text, in Markdown."""
        self._writer.add_text(tag, text_string, global_step, walltime)

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The tape of one run of a module, as a graph."""
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self.file_writer.add_event(event_pb2.Event(graph_def=graph.SerializeToString()))

    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Points (N, D) with their labels."""
        self._writer.add_embedding(_plain(mat), _plain(metadata), _plain(label_img), global_step, tag, metadata_header)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision and recall of predictions in [0, 1] for labels 0 and 1."""
        self._writer.add_pr_curve(
            tag, _plain(labels), _plain(predictions), global_step, num_thresholds, _plain(weights), walltime
        )

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision and recall that are counted already."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts)
        self._writer.add_pr_curve_raw(
            tag, *map(_plain, (*counts, precision, recall)), global_step, num_thresholds, _plain(weights), walltime
        )

    def add_custom_scalars(self, layout: dict[str, Any]) -> None:
        """Which numbers share a chart."""
        self._writer.add_custom_scalars(layout)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of several numbers."""
        self._writer.add_custom_scalars_multilinechart(tags, category, title)

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of a number with its margins."""
        self._writer.add_custom_scalars_marginchart(tags, category, title)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Points (B, N, 3) in space, with colours and faces."""
        self._writer.add_mesh(tag, _plain(vertices), _plain(colors), _plain(faces), config_dict, global_step, walltime)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """The settings of a run beside its results."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        self._writer.add_hparams(
            {key: value.item() if isinstance(value, Tensor) else value for key, value in hparam_dict.items()},
            {key: value.item() if isinstance(value, Tensor) else value for key, value in metric_dict.items()},
            run_name,
            global_step,
        )

    def flush(self) -> None:
        """Write all to the file now."""
        self._writer.flush()

    def close(self) -> None:
        """Write all, and close the file."""
        self._writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
