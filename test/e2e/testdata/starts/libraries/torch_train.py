# cold: an import reads the script, which is empty before its turn
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
step = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    loss = model(torch.ones(2, 4)).pow(2).mean()
    step.zero_grad()
    loss.backward()
    step.step()
print(round(loss.item(), 6), torch.get_num_threads(), torch.get_default_dtype())
