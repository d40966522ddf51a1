# cold: an import reads the script, which is empty before its turn
import torch
import torch.utils.data

print([x.tolist() for x in torch.utils.data.DataLoader(list(range(100)), batch_size=50, shuffle=True)])
