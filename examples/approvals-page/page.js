// Shows the calls that wait for a person, and what calls ask. What a model wrote enters the page as text nodes only.
const session = 'order-42';
const status = document.getElementById('status');
const questions = document.getElementById('questions');

new EventSource(`sessions/${session}/events`).addEventListener('message', ({ data }) => {
  const seen = JSON.parse(data);
  status.textContent = seen.status;
  questions.replaceChildren(...seen.waiting.map(itemOf), ...seen.questions.map(askedItemOf));
});

function itemOf(action) {
  const item = document.createElement('li');
  item.append(`${action.tool_name} ${JSON.stringify(action.arguments)} `);
  const about = (allow) => () => answer(action, action.arguments_digest, allow);
  item.append(buttonOf('Allow', about(true)), buttonOf('Deny', about(false)));
  return item;
}

// An answer that has content needs a form of your own: it goes to agent.answer as { action: 'accept', content }.
function askedItemOf(question) {
  const item = document.createElement('li');
  const { message, schema } = question.asked;
  item.append(`${question.tool_name} asks: ${message} `);
  const say = (accept) => () => answer(question, question.question, accept);
  if (schema === undefined) item.append(buttonOf('Accept', say(true)));
  item.append(buttonOf('Decline', say(false)));
  return item;
}

function buttonOf(label, press) {
  const button = document.createElement('button');
  button.textContent = label;
  button.addEventListener('click', press);
  return button;
}

// The answer names the arguments, or the question, that were shown: it counts for no others.
async function answer({ call_id, batch_id: batch }, digest, allow) {
  const response = await fetch(`sessions/${session}/calls/${encodeURIComponent(call_id)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ batch, digest, allow }),
  });
  if (!response.ok) status.textContent = await response.text();
}
