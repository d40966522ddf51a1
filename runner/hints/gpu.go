package hints

// wantsGPU is how the tools of NVIDIA and the libraries above CUDA fail without a device.
var wantsGPU = pattern(`(?m)(\bnvidia-smi['’]?: (?:command )?not found|No such file or directory: 'nvidia-smi'|Found no NVIDIA driver on your system|` +
	`Torch not compiled with CUDA enabled|no CUDA-capable device is detected|No CUDA GPUs are available)`)

func noGPU(f Facts) string {
	if f.find(wantsGPU) == "" && (len(f.Ended.Command) == 0 || f.Ended.Command[0] != "nvidia-smi" || !f.exited()) {
		return ""
	}
	return "a run has no GPU: let the analysis use the CPU"
}
