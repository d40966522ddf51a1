# cold: an import reads the script, which is empty before its turn
import torch
import torch.nn.functional as f

print(f.dropout(torch.ones(200)).tolist())
print(torch.randperm(10 ** 6)[:3].tolist())
