/* flame_plumbing.c -- frames that say nothing: the Python interpreter's own, the allocator's, the unwinder's. */
#include <string.h>

#include "flame.h"

bool msnap_flame_is_plumbing(const struct msnap_snapshot *s, uint32_t frame)
{
    /* The interpreter and what starts a thread; how PyTorch gets from Python to an operator and back;
     * the way from "empty" to the allocator and into the recorder of this very stack. */
    static const char *const beginnings[] = {
        "Py", "_Py", "THP", "_start", "__libc_", "__clone", "clone", "pthread_", "start_thread", "std::", "??",
        "torch::unwind", "torch::CapturedTraceback", "torch::cuda::(anonymous namespace)::gather", "torch::detail::(anonymous namespace)::ConcretePyInterpreter",
        "torch::autograd::Engine::thread_", "torch::autograd::python::PythonEngine", "c10::cuda::CUDACachingAllocator", "c10::impl::",
        "c10::StorageImpl", "c10::TensorImpl", "c10::intrusive_ptr", "c10::alloc_cpu", "at::detail::empty", "at::native::empty", "at::_ops::empty",
        "at::empty", "at::(anonymous namespace)::create_out", "at::(anonymous namespace)::(anonymous namespace)::wrapper_CUDA__empty"};
    if (msnap_frame_is_python(s, frame))
        return false;
    const uint32_t id = s->frames.name[frame];
    const char *name = id < s->strings.n && s->strings.bytes[id] ? s->strings.bytes[id] : "";
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return strstr(name, "::set_output_") != NULL; /* of structured operators */
}
