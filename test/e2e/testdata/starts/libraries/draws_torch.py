# cold: an import reads the script, which is empty before its turn
import torch

print(torch.rand(3).tolist())
print(torch.initial_seed())
print(torch.nn.Linear(3, 2).weight.tolist())
